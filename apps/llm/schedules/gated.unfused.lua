-- Without fusion: the activated go to memory, then the product.

local rows = require "lib.rows"

return schedule "gated" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    rows.materialise({ k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
