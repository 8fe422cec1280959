-- expect: 3: error: compute_at: the argument "level" must be a loop, as split returns it, or a Func and the name of one of its loops, not a string
-- expect+   usage: compute_at(loop) or compute_at(func, "loop")
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_at("y", "col")
  end,
}
