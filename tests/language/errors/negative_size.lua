-- expect: 3: error: split: the argument "factor" is -4, but must be from 1 to 16777216
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", -4)
  end,
}
