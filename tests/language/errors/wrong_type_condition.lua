-- expect: 3: error: specialize: the argument "condition" is a number, not a condition
-- expect+   compare it: k.x:dim(0):extent():at_least(64)
return schedule "small" {
  apply = function(k, p, target)
    k.y:specialize(k.x:dim(0):extent())
  end,
}
