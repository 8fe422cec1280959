-- expect: 3: error: split: "gard" is no tail; there are "auto", "guard", "guard_with_if", "predicate", "predicate_loads", "predicate_stores", "round_up", "round_up_and_blend", "shift_inwards", "shift_inwards_and_blend"
-- expect+   did you mean "guard"?
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 8, "gard")
  end,
}
