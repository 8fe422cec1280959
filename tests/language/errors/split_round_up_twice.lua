-- expect: 4: error: split: with this tail, turns of "r" beyond its end would be part of the result
-- expect+   take "guard"
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.sum:update(0):split("r", 8, "round_up")
  end,
}
