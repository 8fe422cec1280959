-- expect: 3: error: fuse: "loop_extent" cannot name a loop: Halide calls a variable so
-- expect+   usage: fuse(inner, outer, name?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:fuse("col", "row", "loop_extent")
  end,
}
