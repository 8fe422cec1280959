-- Transposition without fusion: the transposed matrix, scale and bias, the activation and the result go through
-- memory one after the other, as in a chain of library calls.

local rows = require "lib.rows"

return schedule "transpose" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    rows.materialise({ k.transposed, k.linear, k.activated }, { row = "col", inner = "row", lanes = lanes, task = 16 })
    k.y:parallel("col", 16, "guard"):vectorize("row", lanes, "guard")
  end,
}
