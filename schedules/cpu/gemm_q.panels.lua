-- Products of many rows in 8 bits with weights of 4 to 8 bits, as they lie in a file: a panel of columns is laid out once for some tens
-- of rows, so that the products of a block are added up for eight or more columns at once and scaled once. The layout costs what one to
-- two rows cost: fewer than about 8 rows are quicker as dot products (gemm_q.lua).

local blocks = require "lib.blocks"

return schedule "gemm_q" {
  target = "cpu",

  generator = { activations = "int8", sums = "columns" },

  params = {
    columns = tune { 16, 32, default = 16 },    -- of a panel, and of a register tile
    rows    = tune { 2, 4, 6, 8, default = 4 }, -- of a register tile
    task    = tune { 4, 16, 64, default = 16 }, -- register tiles a task
  },

  where = function(p) return p.columns * p.rows <= 128 end,

  apply = function(k, p, target)
    blocks.quantised_rows(k, "a", { task = 8 })
    blocks.integer_panels(k.y, { blocks.product(k, k.acc, "w", "a") }, {
      m = k.y:dim(1):extent(),
      lanes = target:lanes "f32",
      columns = p.columns,
      rows = p.rows,
      task = p.task,
    })
  end,
}
