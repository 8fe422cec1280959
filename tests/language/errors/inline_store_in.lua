-- expect: 5: error: store_in: has no effect on g, which is computed inline: it has no loops and no memory of its own
-- expect+   place it by k.g:compute_at(...) or k.g:compute_root(), or leave this out
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.hist:compute_root()
    k.g:store_in "stack"
  end,
}
