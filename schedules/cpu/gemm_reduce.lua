-- A reduction of each row of a product for AVX2 and AVX-512, weights packed into panels. A panel of a tile
-- of rows is accumulated in registers and reduced to one number a row: the product is never
-- stored. A second, small pass reduces these numbers over the panels. Few rows run at the speed at
-- which the weights come from memory.

local gemm = require "lib.gemm"
local logits = require "lib.logits"

return schedule "gemm_reduce" {
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
    logits.fused(k, p, target, k.y:dim(0):extent(), { "row_max", "row_sum" })
  end,
}
