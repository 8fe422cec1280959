-- expect: 3: error: vectorize: needs the argument "loop" (a loop of the stage, by name or as split returns it)
-- expect+   usage: vectorize(loop, lanes?, tail?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize()
  end,
}
