-- harris as Halide's app has it on processors: windows move along the rows of a strip, both slopes in the same loops.

return schedule "harris" {
  target = "cpu",

  apply = function(k, _, target)
    local lanes = target:lanes "f32"
    k.corners:split("y", 32, "auto", "strip", "y")
    k.corners:parallel "strip":vectorize("x", lanes)
    for _, f in ipairs { k.gray, k.dx, k.dy } do
      f:store_at(k.corners, "strip"):compute_at(k.corners, "y"):vectorize("x", lanes)
    end
    k.dx:compute_with(k.dy, "x")
  end,
}
