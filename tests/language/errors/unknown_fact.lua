-- expect: 3: error: target has no "lane"; it has "bits", "features", "has", "l1", "l2", "l3", "lanes", "multiprocessors", "name", "processors", "shared_bytes", "vector_bytes", "vector_registers"
-- expect+   did you mean "lanes"?
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("col", target.lane)
  end,
}
