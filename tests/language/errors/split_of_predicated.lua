-- expect: 4: error: unroll: splits a loop that was made by a split with the tail "predicate_loads" or "predicate_stores"
-- expect+   take "guard" for the first
return schedule "small" {
  apply = function(k)
    k.f:compute_root():split("col", 4, "predicate_stores", "outer", "inner")
    k.f:unroll("inner", 8)
    k.y:split("row", 2)
  end,
}
