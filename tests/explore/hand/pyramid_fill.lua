-- pyramid_fill as Halide's interpolate has it on processors: levels on the way down are stored whole, those on the way up in strips of
-- rows of the result.

return schedule "pyramid_fill" {
  target = "cpu",

  apply = function(k, _, target)
    local lanes, levels = target:lanes "f32", 1
    while k:has("down_" .. levels) do
      levels = levels + 1
    end
    for l = 1, levels - 2 do
      local down = k["down_" .. l]
      down:compute_root():never_partition "x":reorder("x", "c", "y"):split("y", 8, "auto", "strip", "y")
      down:parallel "strip":vectorize("x", lanes)
    end
    k.down_0:clone_in(k.across_1):store_at(k.down_1, "strip"):compute_at(k.down_1, "y")
      :reorder("c", "x", "y"):unroll "c":vectorize("x", lanes):never_partition "y"
    k.filled:never_partition "y":split("x", lanes, "auto", "x", "x_in")
    k.filled:split("y", 32, "auto", "strip", "y")
    k.filled:reorder("x_in", "c", "x", "y", "strip"):unroll "c":vectorize "x_in":parallel "strip"
    for l = 1, levels - 2 do
      k["up_" .. l]:store_at(k.filled, "strip"):compute_at(k.filled, "y"):never_partition_all():vectorize("x", lanes)
    end
    k["down_" .. (levels - 1)]:store_at(k.filled, "strip"):compute_at(k.filled, "y"):never_partition_all():vectorize("x", lanes)
  end,
}
