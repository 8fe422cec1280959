-- blur as Halide's app has it on processors: rows of a strip one after the other, the first blur a vector ahead of the second.

return schedule "blur" {
  target = "cpu",

  apply = function(k)
    local strip = k.blurred:split("y", 32, "auto", "strip", "y")
    strip:parallel()
    k.blurred:vectorize("x", 16)
    k.across:store_at(k.blurred, "strip"):compute_at(k.blurred, "x"):vectorize("x", 16)
  end,
}
