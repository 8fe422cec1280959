-- GEMM with its epilogue for a few rows, weights transposed: n x k, as torch.nn.Linear stores them.
-- Every element of y is a dot product along k in the SIMD lanes; a tile of them shares the vectors
-- that it loads. Weights are read once, in order, and never packed. From some tens of rows
-- on the packed schedules win, as they add up no lanes.

local gemm = require "lib.gemm"

return schedule "gemm" {
  target = "cpu",

  generator = { weights = "nk" },

  params = {
    columns = tune { 2, 4, 8, default = 4 },   -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },   -- of a tile, with 32 registers; otherwise at most 2
    task    = tune { 1, 4, 16, default = 4 },  -- tiles of columns a task
  },

  where = function(p, target)
    return p.columns * p.rows <= 16
  end,

  apply = function(k, p, target)
    local most = target.vector_registers >= 32 and p.rows or math.min(p.rows, 2)
    gemm.dot_products(k.y, { k.acc }, {
      m = k.y:dim(1):extent(),
      lanes = target:lanes "f32",
      columns = p.columns,
      rows = most,
      task = p.task,
    })
  end,
}
