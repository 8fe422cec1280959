-- expect: 3: error: split: splits a loop whose last turn is shifted inwards by an earlier split: with this tail, turns beyond the end would be shifted onto elements that are there
-- expect+   split the outer loop first, or let one of the tails be "guard"
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():split("col", 5, "auto", "strip", "lane"):split(8, "round_up_and_blend")
  end,
}
