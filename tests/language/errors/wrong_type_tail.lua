-- expect: 3: error: split: the argument "tail" must be one of "auto", "guard", "guard_with_if", "predicate", "predicate_loads", "predicate_stores", "round_up", "round_up_and_blend", "shift_inwards", "shift_inwards_and_blend", not a number
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 8, 3)
  end,
}
