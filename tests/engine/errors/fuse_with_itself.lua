-- expect: 3: error: fuse: In schedule for y, could not find inner fuse dimension: col
-- expect+ Vars: row __outermost
return schedule "small" {
  apply = function(k, p, target)
    k.y:fuse("col", "col")
  end,
}
