-- expect: 3: error: vectorize: the loop "col" of y is written out 1048576 times; with the loops around it that makes 131072 copies of a statement and 2752512 operations in all, where a compiler gets to the end of 4096 and 1000000
-- expect+   unroll and vectorize loops of a few turns: split the loop first, and leave the outer one as it is
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("col", 1 << 20)
  end,
}
