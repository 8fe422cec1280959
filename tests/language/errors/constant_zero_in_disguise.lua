-- expect: 4: error: align_bounds: the argument "modulus" is 0, but must be from 1 to 16777216
-- expect+   usage: align_bounds(dim, modulus, remainder?)
return schedule "small" {
  apply = function(k, p, target)
    local zero = k.x:dim(0):extent() * 0
    k.y:align_bounds("col", zero)
  end,
}
