-- SwiGLU of a few rows with weights of 4 to 8 bits, as they lie in a file: dot products along k in the SIMD lanes, those of gate and of up
-- for the same columns one after the other. Rows in 8 bits are rounded once for both. From some tens of rows on swiglu.panels.lua wins.

local blocks = require "lib.blocks"
local rows = require "lib.rows"

return schedule "swiglu" {
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
    blocks.dots(rows.quantised_after(k, target), { blocks.product(k, k.gate, "w_gate", "x"), blocks.product(k, k.up, "w_up", "x") }, {
      m = k.y:dim(1):extent(),
      columns = p.columns,
      rows = p.rows,
      task = p.task,
      ahead = p.ahead > 0 and p.ahead,
    })
  end,
}
