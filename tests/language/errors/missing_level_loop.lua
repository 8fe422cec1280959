-- expect: 3: error: compute_at: needs the name of a loop of y too
-- expect+   usage: compute_at(loop) or compute_at(func, "loop")
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_at(k.y)
  end,
}
