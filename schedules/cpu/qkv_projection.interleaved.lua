-- The three projections with weights in interleaved blocks (halyard_interleave_blocks), of any number of rows: SIMD lanes are columns, so
-- that no sum is added up across lanes, and a weight is unpacked where it is multiplied. Rows in 8 bits are rounded once for all three, and
-- one parallel loop goes over the panels of all.

local blocks = require "lib.blocks"

return schedule "qkv_projection" {
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
    blocks.quantised_rows(k, "x", { task = 8 })
    for name, acc in pairs { q = k.acc_q, k = k.acc_k, v = k.acc_v } do
      local out = k[name]
      out:dim(0):set_min(0)
      blocks.interleaved(out, { blocks.product(k, acc, "w_" .. name, "x") }, blocks.interleaved_tiles_of(target, k:has "x_q", {
        m = out:dim(1):extent(),
        panel = p.interleaved,
        columns = p.columns,
        rows = p.rows,
        few = p.few,
        task = p.task,
        ahead = p.ahead > 0 and p.ahead,
      }))
    end
    k.q:side_by_side(k.k, k.v)
  end,
}
