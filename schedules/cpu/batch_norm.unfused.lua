-- BatchNorm without care: a pass on one thread a channel's scale at a time, SIMD over pixels. Kept to
-- compare with: scale and shift are computed anew for each vector.

return schedule "batch_norm" {
  target = "cpu",

  apply = function(k, p, target)
    local y = k:has "y" and k.y or k.y_nhwc
    y:vectorize(k:has "y" and "w" or "c", target:lanes "f32", "guard")
    y:parallel "n"
  end,
}
