-- unsharp as Halide's app has it on processors: windows move along the rows of a strip.

return schedule "unsharp" {
  target = "cpu",

  apply = function(k, _, target)
    local lanes = target:lanes "f32"
    k.sharp:split("y", 32, "auto", "strip", "y")
    k.sharp:vectorize("x", lanes):parallel "strip":reorder("x", "c", "y", "strip")
    for _, f in ipairs { k.gray, k.down, k.ratio } do
      f:compute_at(k.sharp, "y"):store_at(k.sharp, "strip"):vectorize("x", lanes)
    end
  end,
}
