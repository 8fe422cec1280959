-- Softmax without fusion: logits, maxima, exponentials, sums and the result, each its own pass,
-- over all rows. Every pass is SIMD and parallel, as a library call would be; what
-- it costs against softmax.lua is the traffic between the passes.

local rows = require "lib.rows"

return schedule "softmax" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local scale = k:has "log_sum" and k.log_sum or k.inv_sum
    rows.materialise({ k.logits, k.row_max, k.weight, k.row_sum, scale }, { row = "row", task = 8 })
    k.logits:vectorize("col", lanes, "guard")
    k.weight:vectorize("col", lanes, "guard")
    for _, sum in ipairs { k.row_max, k.row_sum } do
      sum:update(0):atomic():vectorize("col", 4 * lanes, "guard"):parallel("row", 8, "guard")
    end
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
