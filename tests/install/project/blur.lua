return schedule "blur" {
  apply = function(k, p, target)
    local strip, y = k.blur_y:split("y", 16, "guard")
    strip:parallel()
    k.blur_y:vectorize("x", target:lanes "f32", "guard")
    k.blur_x:compute_at(y):store_at(strip):vectorize("x", target:lanes "f32", "guard")
  end,
}
