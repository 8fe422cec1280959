-- expect: 3: error: unroll: the loop "col" of y is written out 1000000000 times; with the loops around it that makes 1000000000 copies of a statement and 21000000000 operations in all, where a compiler gets to the end of 4096 and 1000000
-- expect+   unroll and vectorize loops of a few turns: split the loop first, and leave the outer one as it is
return schedule "small" {
  apply = function(k, p, target)
    k.y:unroll("col", 1000000000, "guard")
    k.y:parallel("row")
  end,
}
