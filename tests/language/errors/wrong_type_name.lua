-- expect: 3: error: split: the argument "outer" must be a new name, not a number
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 8, "guard", 1, 2)
  end,
}
