-- SwiGLU with weights in interleaved blocks (halyard_interleave_blocks), of any number of rows: SIMD lanes are columns, so that no sum is
-- added up across lanes, and a weight is unpacked where it is multiplied. Gate and up of a tile are in registers one after the other;
-- rows in 8 bits are rounded once for both.

local blocks = require "lib.blocks"
local rows = require "lib.rows"

return schedule "swiglu" {
  target = "cpu",

  generator = { weights = "blocks", sums = "columns", interleaved = tune { 8, 16, 32, default = 16 } },

  params = {
    columns = tune { 0, 8, 16, 32, 64, default = 0 }, -- of a register tile of many rows; 0: a vector
    rows    = tune { 0, 2, 4, 6, 8, 12, default = 0 }, -- of it; 0: what registers hold
    few     = tune { 16, 32, 64, 128, default = 64 }, -- columns of a task where there are few rows
    task    = tune { 4, 16, 64, default = 64 }, -- register tiles a task where there are many
    ahead   = tune { 0, 2048, 4096, default = 0 }, -- bytes that weights are prefetched
  },

  where = blocks.interleaved_fits,

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    blocks.quantised_rows(k, "x", { task = 8 })
    local products = { blocks.product(k, k.gate, "w_gate", "x"), blocks.product(k, k.up, "w_up", "x") }
    blocks.interleaved(rows.quantised_after(k, target), products, blocks.interleaved_tiles_of(target, k:has "x_q", {
      m = k.y:dim(1):extent(),
      panel = p.interleaved,
      columns = p.columns,
      rows = p.rows,
      few = p.few,
      task = p.task,
      ahead = p.ahead > 0 and p.ahead,
    }))
  end,
}
