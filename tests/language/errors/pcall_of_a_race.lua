-- expect: 5: error: parallel: the turns of "box_x" write the same elements, so they cannot run at once
-- expect+   say atomic() before, if the order of the operation does not matter, or take another loop
-- A word that fails may have changed the schedule by then.
return schedule "small" {
  apply = function(k, p, target)
    k.hist:compute_root()
    local ok = pcall(function() k.hist:update(0):parallel("box_x") end)
    assert(not ok, "and goes on")
  end,
}
