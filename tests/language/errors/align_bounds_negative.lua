-- expect: 3: error: align_bounds: the argument "modulus" is -4, but must be from 1 to 16777216
-- expect+   usage: align_bounds(dim, modulus, remainder?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:align_bounds("col", -4)
  end,
}
