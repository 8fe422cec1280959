-- Products of a few rows with weights of 4 to 8 bits, as they lie in a file: dot products along k in the SIMD lanes. The weights of a
-- column are read once, in order, and become f32 in registers, or integers for rows in 8 bits; a tile of columns shares the vectors of
-- a row.

local gemm_q = require "lib.gemm_q"

return schedule "gemm_q" {
  target = "cpu",

  params = {
    columns = tune { 1, 2, 4, default = 1 }, -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },    -- of a tile
    task    = tune { 4, 16, 64, default = 16 }, -- tiles of columns a task
    ahead   = tune { 0, 2048, 4096, default = 4096 }, -- bytes that weights for rows in 8 bits are prefetched
  },

  where = function(p) return p.columns * p.rows <= 8 end,

  apply = function(k, p, target)
    local tile = {
      m = k.y:dim(1):extent(),
      columns = p.columns,
      rows = p.rows,
      task = p.task,
      ahead = p.ahead > 0 and p.ahead,
    }
    if k:has "a_q" then
      gemm_q.quantised_rows(k, {})
      gemm_q.integer_dots(k.y, k, tile)
    else
      gemm_q.dot_products(k.y, k.acc, tile)
    end
  end,
}
