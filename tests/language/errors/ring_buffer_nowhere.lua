-- expect: 4: error: ring_buffer: is for a Func of which it is said where it is computed
-- expect+   place it by k.sum:compute_at(...) or k.sum:compute_root(), or leave this out
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root()
    k.sum:ring_buffer(2)
  end,
}
