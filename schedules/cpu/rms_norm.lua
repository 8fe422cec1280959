-- RMSNorm for any host SIMD width.
-- Reads a row twice: once for the sum of squares, once to scale. The second
-- read hits L1 as long as a row fits there, so no staging is needed.

local processor = require "lib.processor"
local reduce = require "lib.reduce"
local rows = require "lib.rows"

return schedule "rms_norm" {
  target = "cpu",

  params = {
    rows  = tune { 1, 4, 8, 16, default = 8 }, -- rows a task; short rows want more
    accum = tune { 2, 4, 8, default = 4 },     -- independent sums, to hide FMA latency
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    local row = rows.tasks(k, k.y, {
      rows = p.rows, lanes = lanes, over_cols = { "residual_out" }, over_rows = { "row_scale", "block_scale" },
    })

    if k:has "added" then
      k.added:compute_at(row):vectorize("col", lanes, "guard")
    elseif not processor.is_zen4(target) then -- which is slower with prefetches, in huge pages too
      -- Memory brings the next row while this one is computed, where x comes from memory: in a cache, prefetches cost time.
      -- With a residual, memory is busy already.
      k.y:prefetch_over("col", k.x, row, 1, true)
    end
    k.inv_rms:compute_at(row)
    reduce.in_lanes(k.sum_sq, "col", { at = row, lanes = lanes, accum = p.accum })
    rows.own_scales(k, row, { lanes = lanes, accum = p.accum })
  end,
}
