-- expect: 3: error: align_extent: the argument "modulus" is 0, but must be from 1 to 16777216
-- expect+   usage: align_extent(dim, modulus)
return schedule "small" {
  apply = function(k, p, target)
    k.y:align_extent("col", 0)
  end,
}
