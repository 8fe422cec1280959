-- The three projections of a few rows with weights of 4 to 8 bits, as they lie in a file: dot products along k in the SIMD lanes. Rows in 8
-- bits are rounded once for all three. From some tens of rows on qkv_projection.panels.lua wins.

local blocks = require "lib.blocks"

return schedule "qkv_projection" {
  target = "cpu",

  generator = { weights = "blocks" },

  params = {
    columns = tune { 1, 2, 4, default = 1 }, -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },    -- of a tile
    task    = tune { 4, 16, 64, default = 16 }, -- tiles of columns a task
    ahead   = tune { 0, 2048, 4096, default = 4096 }, -- bytes that weights for rows in 8 bits are prefetched
  },

  where = function(p) return p.columns * p.rows <= 8 end,

  apply = function(k, p, target)
    blocks.quantised_rows(k, "x", {})
    for name, acc in pairs { q = k.acc_q, k = k.acc_k, v = k.acc_v } do
      local out = k[name]
      blocks.dots(out, { blocks.product(k, acc, "w_" .. name, "x") }, {
        m = out:dim(1):extent(),
        columns = p.columns,
        rows = p.rows,
        task = p.task,
        ahead = p.ahead > 0 and p.ahead,
      })
    end
  end,
}
