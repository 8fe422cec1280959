-- expect: 3: error: compute_root: takes 0 arguments here, not 1
-- expect+   usage: compute_root()
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root(1)
  end,
}
