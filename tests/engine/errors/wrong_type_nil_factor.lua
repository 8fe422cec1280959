-- expect: 3: error: split: needs the argument "factor" (a positive integer or an expression)
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", nil, "guard")
  end,
}
