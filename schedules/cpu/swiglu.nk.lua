-- SwiGLU for a few rows, weights transposed as torch.nn.Linear stores them: dot products in the
-- SIMD lanes, those of gate and of up for the same columns one after the other. Weights are read once
-- and never packed; from some tens of rows on swiglu.lua wins, as it adds up no lanes.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "swiglu" {
  target = "cpu",

  generator = { weights = "nk" },

  params = {
    columns = tune { 2, 4, 8, default = 4 },  -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },  -- of a tile, with 32 registers; otherwise at most 2
    task    = tune { 1, 4, 16, default = 4 }, -- tiles of columns a task
  },

  where = function(p, target)
    return p.columns * p.rows <= 16
  end,

  apply = function(k, p, target)
    gemm.dot_products(rows.quantised_after(k, target), { k.gate, k.up }, {
      m = k.y:dim(1):extent(),
      lanes = target:lanes "f32",
      columns = p.columns,
      rows = target.vector_registers >= 32 and p.rows or math.min(p.rows, 2),
      task = p.task,
    })
  end,
}
