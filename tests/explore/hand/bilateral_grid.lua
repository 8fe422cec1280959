-- bilateral_grid as Halide's app has it on processors: the histograms of a row of cells, blurred along z, are made in one loop;
-- the last blur where it is looked up. Planes of values and weights are inside.

return schedule "bilateral_grid" {
  target = "cpu",

  apply = function(k)
    k.deep:compute_at(k.across, "y"):reorder("c", "z", "x", "y"):vectorize("x", 8):unroll "c"
    k.grid:compute_at(k.deep, "y")
    k.grid:update(0):reorder("c", "r_x", "r_y", "x", "y"):unroll "c"
    k.across:compute_root():reorder("c", "x", "z", "y"):parallel "y":vectorize("x", 8):unroll "c"
    k.down:compute_at(k.smooth, "y"):store_in "stack":reorder("c", "x", "y", "z")
    k.down:reorder_storage("c", "z", "x", "y"):vectorize("x", 8):unroll "c"
    k.smooth:compute_root():parallel("y", 8):vectorize("x", 8)
  end,
}
