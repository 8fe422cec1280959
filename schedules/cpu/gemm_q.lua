-- Products of a few rows with weights of 4 and 8 bits, as they lie in a file: dot products along k in the SIMD lanes. The weights of a
-- column are read once, in order, and become f32 in registers; a tile of columns shares the vectors of a row.

local gemm_q = require "lib.gemm_q"

return schedule "gemm_q" {
  target = "cpu",

  params = {
    columns = tune { 1, 2, 4, default = 1 }, -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },    -- of a tile
    task    = tune { 4, 16, 64, default = 16 }, -- tiles of columns a task
  },

  where = function(p) return p.columns * p.rows <= 8 end,

  apply = function(k, p, target)
    gemm_q.dot_products(k.y, k.acc, {
      m = k.y:dim(1):extent(),
      columns = p.columns,
      rows = p.rows,
      task = p.task,
    })
  end,
}
