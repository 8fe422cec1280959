-- expect: 3: error: split: the argument "factor" is -nan, not an integer
-- expect+   divide with `//` to get an integer
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 0 / 0)
  end,
}
