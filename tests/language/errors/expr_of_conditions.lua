-- expect: 4: error: specialize: the argument "condition" is a number, not a condition
-- expect+   compare it: k.x:dim(0):extent():at_least(64)
return schedule "small" {
  apply = function(k, p, target)
    local e = k.x:dim(0):extent():at_least(4) + 1
    k.y:specialize(e)
  end,
}
