-- LayerNorm without fusion: sums, means, sums of squares, scales, and the result, each its own pass,
-- over all rows. Every pass is SIMD and parallel, as a library call would be; what
-- it costs against layer_norm.lua is the traffic between the passes.

local rows = require "lib.rows"

return schedule "layer_norm" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    if k:has "residual" then
      rows.materialise({ k.added, k.residual_out }, { row = "row", task = 8, inner = "col", lanes = lanes })
    end
    if k:has "first" then
      rows.materialise({ k.first }, { row = "row", task = 8 })
      k.first:update(0):parallel("row", 8, "guard")
    end
    rows.materialise({ k.sum, k.mean, k.sum_sq, k.inv_std }, { row = "row", task = 8 })
    for _, sum in ipairs { k.sum, k.sum_sq } do
      sum:update(0):atomic():vectorize("col", 4 * lanes, "guard"):parallel("row", 8, "guard")
    end
    rows.own_scales_in_passes(k, lanes)
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
