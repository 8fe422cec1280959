-- expect: 3: error: in_: the argument "consumers" must be a Func, as in k.y, not a string
-- expect+   usage: in_(consumers...?)
return schedule "small" {
  apply = function(k, p, target)
    k.f:in_("y")
  end,
}
