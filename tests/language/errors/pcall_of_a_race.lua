-- expect: 5: error: parallel: In schedule for hist.update(0), marking var box_x as parallel or vectorized may introduce a race condition resulting in incorrect output. Say atomic() before, if the operation is associative.
-- A word that fails may have changed the schedule by then.
return schedule "small" {
  apply = function(k, p, target)
    k.hist:compute_root()
    local ok = pcall(function() k.hist:update(0):parallel("box_x") end)
    assert(not ok, "and goes on")
  end,
}
