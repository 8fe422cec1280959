-- expect: 3: error: vectorize: the argument "loop" must be a loop, by name or as split and tile return it, not a Func
-- expect+   usage: vectorize(loop, lanes?, tail?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize(k.f, 8)
  end,
}
