-- expect: 4: error: vectorize: has vectors over turns of which the last is shifted inwards and blends: two lanes would store one element
-- expect+   split the outer loop first, or let one of the tails be "guard"
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("row", 4, "shift_inwards_and_blend")
    k.y:vectorize("row", 2, "guard")
  end,
}
