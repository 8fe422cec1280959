-- expect: 3: error: bound_extent: the argument "extent" is 0, but must be 1 or more
-- expect+   usage: bound_extent(dim, extent)
return schedule "small" {
  apply = function(k, p, target)
    k.y:bound_extent("col", 0)
  end,
}
