-- expect: 3: error: atomic: the argument "override_associativity" must be true or false, not a number
-- expect+   usage: atomic(override_associativity?)
return schedule "small" {
  apply = function(k, p, target)
    k.sum:update(0):atomic(1)
  end,
}
