-- expect: 3: error: multiple_of: the argument "value" is 0, but must be 1 or more
-- expect+   usage: multiple_of(value)
return schedule "small" {
  apply = function(k, p, target)
    k.y:specialize(k.x:dim(0):extent():multiple_of(0))
  end,
}
