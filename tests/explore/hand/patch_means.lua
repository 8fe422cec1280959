-- patch_means as Halide's nl_means has it on processors: tiles, in which differences of patches are made for all shifts.

return schedule "patch_means" {
  target = "cpu",

  apply = function(k, _, target)
    local lanes = target:lanes "f32"
    k.mean:reorder("c", "x", "y"):tile({ "x", "y" }, { 16, 8 }, "auto", { "x_tile", "y_tile" }, { "x", "y" })
    k.mean:parallel "y_tile":vectorize("x", lanes)
    k.down:compute_at(k.mean, "x_tile"):hoist_storage(k.mean, "y_tile"):reorder("y", "x"):vectorize("x", lanes)
    k.down:update(0):reorder("r", "y", "x"):vectorize("x", lanes)
    k.apart:compute_at(k.mean, "x_tile"):hoist_storage(k.mean, "y_tile"):vectorize("x", lanes)
    k.sums:compute_at(k.mean, "x"):reorder("c", "x", "y"):bound("c", 0, 4):unroll "c":vectorize("x", lanes)
    k.sums:update(0):reorder("c", "x", "y", "r_x", "r_y"):unroll "c":vectorize("x", lanes)
    k.patches:compute_at(k.sums, "x"):vectorize("x", lanes)
    k.patches:update(0):reorder("x", "r"):vectorize("x", lanes)
  end,
}
