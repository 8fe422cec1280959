-- RMSNorm and the product after it for AVX2 and AVX-512, weights packed into panels, as gemm.lua: 1 / rms is a
-- factor of the sums in registers, like bias and activation. x is read once more for it, before; no
-- normalised x is written. A weight that is not folded is multiplied in a tile of rows at a time.

local gemm = require "lib.gemm"
local norm = require "lib.norm"

return schedule "rms_norm_gemm" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
  },

  params = {
    rows = tune { 0, 4, 6, 8, 12, default = 0 }, -- of the register tile, with 32 registers; 0: what suits the panel
    task = tune { 4, 8, 16, 32, default = 16 }, -- register tiles a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    local tiles = norm.tiles(k, target, { m = k.y:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task })
    k.y:dim(0):set_min(0)
    norm.statistics(k, tiles.lanes)
    gemm.register_tiles(k.y, k.acc, tiles)
  end,
}
