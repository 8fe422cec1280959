-- conv_relu as Halide's conv_layer has it on processors: tiles of registers of 4 vectors by 5 pixels, or 3 by 4 of 16 registers.

return schedule "conv_relu" {
  target = "cpu",

  apply = function(k, _, target)
    local lanes, wide = target:lanes "f32", target.vector_registers == 32
    local vectors, pixels = wide and 4 or 3, wide and 5 or 4
    k.relu:split("c", vectors * lanes, "auto", "co", "ci")
    k.relu:split("x", pixels, "auto", "xo", "xi")
    k.relu:reorder("ci", "xi", "xo", "y", "n", "co"):vectorize("ci", lanes):unroll "ci":unroll "xi"
    k.relu:parallel "y":parallel "n":parallel "co"
    k.conv:compute_at(k.relu, "xo"):vectorize("c", lanes):unroll "c":unroll "x":unroll "y"
    k.conv:update(0):reorder("c", "x", "y", "r_x", "r_y", "r_z", "n"):vectorize("c", lanes)
    k.conv:update(0):unroll "c":unroll "x":unroll "y":unroll("r_x", 2)
  end,
}
