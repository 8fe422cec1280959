-- expect: 4: error: split: the tail "shift_inwards" would compute elements of an update of "r" twice
-- expect+   take "guard"
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.sum:update(0):split("r", 8, "shift_inwards")
  end,
}
