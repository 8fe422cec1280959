-- expect: 3: error: mma: is for an update that adds up products
-- expect+   write k.sum:update(0):mma()
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root():mma()
  end,
}
