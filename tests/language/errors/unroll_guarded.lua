-- expect: 2: error: unroll: the loop "col" of y is written out 1024 times; that makes 1024 copies with a condition each, where a compiler gets to the end of 256
-- expect+   unroll and vectorize loops of a few turns: split the loop first, and leave the outer one as it is
return schedule "small" {
  apply = function(k) k.y:unroll("col", 1024, "guard") end,
}
