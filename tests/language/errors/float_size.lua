-- expect: 3: error: split: the argument "factor" is 7.500000, not an integer
-- expect+   divide with `//` to get an integer
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 15 / 2)
  end,
}
