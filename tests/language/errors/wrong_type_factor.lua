-- expect: 3: error: split: the argument "factor" must be an integer or an expression, not a string
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", "8")
  end,
}
