-- expect: 4: error: split: When splitting Var r ShiftInwards is not a legal tail strategy for update definitions, as it may change the meaning of the algorithm
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.sum:update(0):split("r", 8, "shift_inwards")
  end,
}
