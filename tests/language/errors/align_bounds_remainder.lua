-- expect: 3: error: align_bounds: the argument "remainder" is 4, but must be 0 or more, and below 4
-- expect+   usage: align_bounds(dim, modulus, remainder?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:align_bounds("col", 4, 4)
  end,
}
