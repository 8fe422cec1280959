-- expect: 3: error: compute_at: needs the argument "level" (a loop of a consumer: as split returns it, or its Func and its name, where "outermost" is around all of them)
-- expect+   usage: compute_at(loop) or compute_at(func, "loop")
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_at()
  end,
}
