-- GroupNorm without fusion: sums, means, sums of squares, scales, x scaled and shifted, the activation and the result,
-- each its own pass over the whole tensor, SIMD and parallel as a library call would be.

local rows = require "lib.rows"

return schedule "group_norm" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    for _, func in ipairs { k.sum, k.mean, k.sum_sq, k.inv_std } do
      func:compute_root():parallel("g")
    end
    for _, sum in ipairs { k.sum, k.sum_sq } do
      sum:update(0):atomic():vectorize("pixel_x", 2 * lanes, "guard"):parallel("g")
    end
    for _, step in ipairs { "normalised", "activated" } do
      if k:has(step) then rows.materialise({ k[step] }, { row = "c", inner = "w", lanes = lanes }) end
    end
    k.y:vectorize("w", lanes, "guard"):parallel("c")
  end,
}
