-- expect: 5: error: compute_at: k.f:compute_at(k.sum, "row") is no place for it: its loop is not around all that read f, which are sum and g
-- expect+   there are k.f:compute_root()
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.g:compute_root()
    k.f:compute_at(k.sum, "row")
  end,
}
