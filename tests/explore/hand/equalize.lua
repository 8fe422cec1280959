-- equalize as Halide's hist has it on processors: counts of each strip of rows, which are then added; brightness is computed again.

return schedule "equalize" {
  target = "cpu",

  apply = function(k, _, target)
    local lanes = target:lanes "f32"
    k.counts:compute_root():vectorize("i", lanes)
    k.counts:update(0):split("r_y", 16, "auto", "strip", "r_y")
    local strips = k.counts:update(0):rfactor("strip", { "part" })
    strips:compute_root():vectorize("i", lanes):update(0):parallel "part"
    k.bright:clone_in(strips):compute_at(strips, "r_y"):vectorize("x", lanes)
    k.counts:update(0):reorder("i", "strip"):vectorize("i", lanes)
    k.sums:compute_root():update(0):unscheduled()
    k.table:compute_root():vectorize("i", lanes)
    k.even:reorder("c", "x", "y"):unroll "c":parallel("y", 8):vectorize("x", 2 * lanes)
    for _, f in ipairs { k.bright, k.after } do
      f:compute_at(k.even, "x"):vectorize("x", lanes)
    end
  end,
}
