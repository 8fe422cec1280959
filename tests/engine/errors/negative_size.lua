-- expect: 3: error: split: the argument "factor" is -4, but must be positive
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", -4)
  end,
}
