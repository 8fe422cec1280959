-- expect: 3: error: vectorize: the loop "col" of f is written out 512 times; that makes 512 copies with a condition each, where a compiler gets to the end of 256
-- expect+   unroll and vectorize loops of a few turns: split the loop first, and leave the outer one as it is
return schedule "small" {
  apply = function(k)
    k.f:compute_root():vectorize("col", 512, "predicate_loads")
  end,
}
