-- expect: 3: error: split: the argument "factor" is no integer, but must be an integer or an expression, from 1 to 16777216
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", k.scale)
  end,
}
