-- expect: 4: error: unroll: the loop "i" of y is written out 200 times; with the loops around it that makes 120000 copies of a statement and 483400 operations in all, where a compiler gets to the end of 4096 and 1000000
-- expect+   unroll and vectorize loops of a few turns: split the loop first, and leave the outer one as it is
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 200, "guard", "o", "i")
    k.y:unroll("i")
    k.f:compute_at(k.y, "i"):bound_extent("col", 20):unroll("col"):bound_extent("row", 30):unroll("row")
  end,
}
