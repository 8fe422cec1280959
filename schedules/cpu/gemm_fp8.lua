-- A product of numbers of 8 bits, weights transposed (n x k), as torch.nn.Linear stores them. Processors have no products of such numbers:
-- rows become f32 once, and so do the weights of a tile of columns for all rows, by some integer instructions and one conversion a
-- vector. Every element of y is a dot product along k in the SIMD lanes; a tile of them shares the vectors that it loads.

local gemm = require "lib.gemm"

return schedule "gemm_fp8" {
  target = "cpu",

  params = {
    columns = tune { 2, 4, 8, default = 4 },   -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },   -- of a tile, with 32 registers; otherwise at most 2
    task    = tune { 1, 4, 16, default = 4 },  -- tiles of columns a task
  },

  where = function(p, target)
    return p.columns * p.rows <= 16
  end,

  apply = function(k, p, target)
    gemm.float8_dot_products(k, k.y, {
      m = k.y:dim(1):extent(), lanes = target:lanes "f32", columns = p.columns, task = p.task,
      rows = target.vector_registers >= 32 and p.rows or math.min(p.rows, 2),
    })
  end,
}
