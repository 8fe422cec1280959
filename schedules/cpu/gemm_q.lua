-- Products of a few rows with weights of 4 to 8 bits, as they lie in a file: dot products along k in the SIMD lanes. The weights of a
-- column are read once, in order, and become f32 in registers, or integers for rows in 8 bits; a tile of columns shares the vectors of
-- a row.

local blocks = require "lib.blocks"

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
    blocks.quantised_rows(k, "a", {})
    blocks.dots(k.y, { blocks.product(k, k.acc, "w", "a") }, {
      m = k.y:dim(1):extent(),
      columns = p.columns,
      rows = p.rows,
      task = p.task,
      ahead = p.ahead > 0 and p.ahead,
    })
  end,
}
