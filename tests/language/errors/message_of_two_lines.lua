-- expect: 3: error: specialize_fail: the argument "message" must be one line of printable ASCII characters
-- expect+   usage: specialize_fail(message)
return schedule "small" {
  apply = function(k, p, target)
    k.y:specialize_fail("no\nok")
  end,
}
