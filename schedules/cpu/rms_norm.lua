-- RMSNorm for any host SIMD width.
-- Reads a row twice: once for the sum of squares, once to scale. The second
-- read hits L1 as long as a row fits there, so no staging is needed.

local reduce = require "lib.reduce"

return schedule "rms_norm" {
  target = "cpu",

  params = {
    rows  = tune { 1, 4, 8, 16, default = 8 }, -- rows a task; short rows want more
    accum = tune { 2, 4, 8, default = 4 },     -- independent sums, to hide FMA latency
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    local task, row = k.y:split("row", p.rows, "guard")
    task:parallel()
    k.y:vectorize("col", lanes, "guard")

    k.inv_rms:compute_at(row)
    reduce.in_lanes(k.sum_sq, "col", { at = row, lanes = lanes, accum = p.accum })
  end,
}
