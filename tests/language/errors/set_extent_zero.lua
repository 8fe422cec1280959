-- expect: 3: error: set_extent: the argument "extent" is -3, but must be 1 or more
-- expect+   usage: set_extent(extent)
return schedule "small" {
  apply = function(k, p, target)
    k.x:dim(0):set_extent(-3)
  end,
}
