-- expect: 4: error: compute_at: k.f:compute_at(k.hist, "i") is no place for it: its loop is not around all that read f, which are sum and g
-- expect+   there are k.f:compute_root(), k.f:compute_at(k.g, "outermost"), k.f:compute_at(k.g, "row"), k.f:compute_at(k.g, "col")
return schedule "small" {
  apply = function(k, p, target)
    k.g:compute_root()
    k.f:compute_at(k.hist, "i")
  end,
}
