-- expect: 3: error: a handle has words to call, not fields to set
return schedule "small" {
  apply = function(k, p, target)
    k.y.compute_root = 1
  end,
}
