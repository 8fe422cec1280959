-- expect: 4: error: parallel: the turns of "r" write the same elements, so they cannot run at once
-- expect+   say atomic() before, if the order of the operation does not matter, or take another loop
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.sum:update(0):parallel("r")
  end,
}
