-- A Func is computed outside of the loop that is cut.
return schedule "transpose" {
  target = "cpu",
  apply = function(k, p, target)
    k.y:split("n", 4, "predicate_stores", "o", "i")
    k.x:in_():compute_root()
  end,
}
