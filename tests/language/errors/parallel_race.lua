-- expect: 4: error: parallel: the turns of "box_x" write the same elements, so they cannot run at once
-- expect+   say atomic() before, if the order of the operation does not matter, or take another loop
return schedule "small" {
  apply = function(k, p, target)
    k.hist:compute_root()
    k.hist:update(0):parallel("box_x")
  end,
}
