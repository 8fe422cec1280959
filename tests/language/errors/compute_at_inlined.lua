-- expect: 3: error: compute_at: k.f:compute_at(k.g, "row") is no place for it: its loop is not around all that read f, which are sum and y
-- expect+   there are k.f:compute_root()
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_at(k.g, "row")
    k.sum:compute_root()
  end,
}
