-- Softmax for any host SIMD width: three passes over a row that stays in cache.
-- One loop sums the exponentials and stores them, so that they are scaled and not computed twice.
-- Scale and mask are applied on the way in, in registers.
-- An online softmax (one pass for maximum and sum) is slower as long as a row fits L2, since it computes more exponentials.

local processor = require "lib.processor"
local reduce = require "lib.reduce"

return schedule "softmax" {
  target = "cpu",

  params = {
    rows  = tune { 1, 4, 8, 16, default = 4 }, -- rows a task
    accum = tune { 2, 4, 8, default = 4 },     -- independent maxima and sums
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    local task, row = k.y:split("row", p.rows, "guard")
    task:parallel()
    k.y:vectorize("col", lanes, "guard")
    k.y:stream()

    if k:has "log_sum" then -- the exponentials are only summed
      k.log_sum:compute_at(row)
    else
      k.inv_sum:compute_at(row)
      k.weight:compute_at(row):vectorize("col", 2 * lanes, "guard") -- two chains of exp in flight
      -- While it computes, memory brings the next row, and the lines of the result. Intel's own prefetchers bring x from a cache.
      k.weight:prefetch_over("col", k.x, row, 1, processor.is_intel(target))
      k.weight:prefetch_over("col", k.y, row, 0)
      -- The mask is prefetched in the last loop, as the one above has two streams already.
      if k:has "mask" then k.y:prefetch_over("col", k.mask, row, 1, processor.is_intel(target)) end
    end
    for _, reduction in ipairs { k.row_max, k.row_sum } do
      reduce.in_lanes(reduction, "col", { at = row, lanes = lanes, accum = p.accum, cols = k.x:dim(0):extent() })
    end
  end,
}
