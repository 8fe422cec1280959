-- expect: 3: error: specialize_fail: the argument "message" has more than 1000 characters
-- expect+   usage: specialize_fail(message)
return schedule "small" {
  apply = function(k, p, target)
    k.y:specialize_fail(("no "):rep(400))
  end,
}
