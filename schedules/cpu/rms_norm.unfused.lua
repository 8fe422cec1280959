-- RMSNorm without fusion: the sums of squares, then the scales, then the product,
-- over all rows. Every pass is SIMD and parallel, as a library call would be; what
-- it costs against rms_norm.lua is the traffic between the passes.

local rows = require "lib.rows"

return schedule "rms_norm" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    if k:has "residual" then
      rows.materialise({ k.added, k.residual_out }, { row = "row", task = 8, inner = "col", lanes = lanes })
    end
    rows.materialise({ k.sum_sq, k.inv_rms }, { row = "row", task = 8 })
    k.sum_sq:update(0):atomic():vectorize("col", 4 * lanes, "guard"):parallel("row", 8, "guard")
    rows.own_scales_in_passes(k, lanes)
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
