-- expect: 4: error: prefetch: has no effect: sum does not read hist
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.sum:update(0):prefetch(k.hist, "r", "r", 1)
  end,
}
