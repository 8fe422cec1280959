-- circle_max as Halide's max_filter has it on processors: strips of columns, in each of which the maxima of columns are stored whole.

return schedule "circle_max" {
  target = "cpu",

  apply = function(k)
    k.slice:compute_root()
    k.height:compute_root()
    k.largest:split("x", 256, "auto", "strip", "x")
    k.largest:reorder("x", "y", "c", "strip"):fuse("c", "strip", "task"):parallel()
    k.largest:vectorize("x", 8)
    k.column:compute_at(k.largest, "task"):vectorize("x", 8)
    k.column:update(0):vectorize("x", 8)
    k.column:update(1):reorder("x", "r_x", "r_y", "c"):vectorize("x", 8)
    k.maximum:compute_at(k.largest, "y"):vectorize("x", 8)
    k.maximum:update(0):reorder("x", "r"):vectorize("x", 8)
  end,
}
