-- GroupNorm without fusion: sums, means, sums of squares, scales and the result, each its own pass over
-- the whole tensor, SIMD and parallel as a library call would be.

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
    k.y:vectorize("w", lanes, "guard"):parallel("c")
  end,
}
