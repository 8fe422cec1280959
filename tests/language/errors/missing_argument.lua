-- expect: 3: error: split: needs the argument "factor" (an integer or an expression, from 1 to 16777216)
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col")
  end,
}
