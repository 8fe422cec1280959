-- expect: 4: error: parallel: In schedule for hist.update(0), marking var box_x as parallel or vectorized may introduce a race condition resulting in incorrect output. Say atomic() before, if the operation is associative.
return schedule "small" {
  apply = function(k, p, target)
    k.hist:compute_root()
    k.hist:update(0):parallel("box_x")
  end,
}
