-- expect: 3: error: set_min: the argument "min" is -2147483648, but must be -2147483647 or more
-- expect+   usage: set_min(min)
return schedule "small" {
  apply = function(k, p, target)
    k.y:dim(0):set_min(-2147483648)
  end,
}
