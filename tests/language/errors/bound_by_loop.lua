-- expect: 3: error: bound: the argument "extent" must be an integer or an expression, not a Func
-- expect+   usage: bound(dim, min, extent)
return schedule "small" {
  apply = function(k, p, target)
    k.y:bound("col", 0, k.y)
  end,
}
