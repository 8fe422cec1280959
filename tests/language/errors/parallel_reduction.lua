-- expect: 4: error: parallel: In schedule for sum.update(0), marking var r as parallel or vectorized may introduce a race condition resulting in incorrect output. Say atomic() before, if the operation is associative.
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.sum:update(0):parallel("r")
  end,
}
