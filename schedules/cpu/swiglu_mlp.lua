-- The feed-forward block for AVX2 and AVX-512, weights packed into panels. h is made in registers from both
-- products and written once, in the storage type; the product back reads it, adds the residual in
-- registers and writes y. Nothing else goes to memory. Few rows run at the speed at which the weights
-- come from memory, and h stays in cache; of many rows h is a small part of the traffic of the weights.

local gemm = require "lib.gemm"
local mlp = require "lib.mlp"
local norm = require "lib.norm"

return schedule "swiglu_mlp" {
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
    local m = k.y:dim(1):extent()
    local up = norm.tiles(k, target, { m = m, panel = p.panel, rows = p.rows, task = p.task })
    local down = mlp.down(k, target, { m = m, panel = p.panel, rows = p.rows, task = p.task })
    k.y:dim(0):set_min(0)
    norm.statistics(k, up.lanes)
    mlp.hidden(k, function(h) gemm.register_tiles(h:compute_root(), { k.gate, k.up }, up) end, mlp.row_of(up))
    gemm.register_tiles(k.y, k.acc, down)
  end,
}
