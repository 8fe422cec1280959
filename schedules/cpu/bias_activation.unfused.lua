-- A chain of elementwise steps without fusion: scale, bias, activation, logarithm and the result go through
-- memory one after the other, as in a chain of library calls.

local rows = require "lib.rows"

return schedule "bias_activation" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    for _, step in ipairs { "scaled", "biased", "activated", "logarithm" } do
      if k:has(step) then
        rows.materialise({ k[step] }, { row = "row", inner = "col", lanes = lanes, task = 16 })
      end
    end
    k.y:parallel("row", 16, "guard"):vectorize("col", lanes, "guard")
  end,
}
