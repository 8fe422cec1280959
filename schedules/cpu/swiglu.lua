-- SwiGLU for AVX2 and AVX-512, weights packed into panels. A task takes a panel of gate and the same
-- panel of up, and for each tile of rows both products one after the other in registers, then the
-- activation and the product of the two: neither goes to memory, and the rows of x that the second
-- reads are in cache. Few rows run at the speed at which the weights come from memory.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "swiglu" {
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
    k.y:dim(0):set_min(0)
    gemm.register_tiles(rows.quantised_after(k, target), { k.gate, k.up }, gemm.packed(target, k.x, k.x_f, {
      m = k.y:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task,
    }))
  end,
}
