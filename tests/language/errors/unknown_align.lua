-- expect: 3: error: compute_with: "middle" is no align; there are "auto", "start", "end", "none"
-- expect+   usage: compute_with(loop, align?) or compute_with(func, "loop", align?)
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_with(k.y, "row", "middle")
  end,
}
