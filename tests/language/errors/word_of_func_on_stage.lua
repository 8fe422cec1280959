-- expect: 3: error: compute_root: is a word of a Func, not of a Stage
-- expect+   write k.sum:compute_root(...)
return schedule "small" {
  apply = function(k, p, target)
    k.sum:update(0):compute_root()
  end,
}
