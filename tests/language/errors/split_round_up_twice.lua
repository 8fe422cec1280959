-- expect: 4: error: split: When splitting Var r the tail strategy must be GuardWithIf, Predicate, or Auto. Anything else may change the meaning of the algorithm
return schedule "small" {
  apply = function(k, p, target)
    k.sum:compute_root()
    k.sum:update(0):split("r", 8, "round_up")
  end,
}
