-- Cross-entropy without fusion: logits in f32, maxima, sums, logarithms and losses, each its own pass over
-- all rows, SIMD and parallel as a library call would be.

local rows = require "lib.rows"

return schedule "cross_entropy" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    rows.materialise({ k.x, k.row_max, k.row_sum, k.log_sum }, { row = "row", task = 8 })
    k.x:vectorize("col", lanes, "guard")
    for _, name in ipairs { "row_max", "row_sum", "sum" } do
      if k:has(name) then
        if name == "sum" then rows.materialise({ k.sum }, { row = "row", task = 8 }) end
        k[name]:update(0):atomic():vectorize("col", 4 * lanes, "guard"):parallel("row", 8, "guard")
      end
    end
    k.loss:parallel("row", 8, "guard")
  end,
}
