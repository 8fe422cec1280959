-- expect: 3: error: clone_in: needs the argument "consumers" (a Func, as in k.y)
-- expect+   usage: clone_in(consumers...)
return schedule "small" {
  apply = function(k, p, target)
    k.f:clone_in()
  end,
}
