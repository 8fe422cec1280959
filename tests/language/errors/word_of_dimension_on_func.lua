-- expect: 3: error: set_bounds: is a word of a Dimension, not of a Func
-- expect+   a Dimension is k.x:dim(0)
return schedule "small" {
  apply = function(k, p, target)
    k.x:set_bounds(0, 8)
  end,
}
