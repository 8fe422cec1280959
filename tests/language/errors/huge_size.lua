-- expect: 3: error: split: the argument "factor" is 1099511627776, which does not fit 32 bits
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 1 << 40)
  end,
}
