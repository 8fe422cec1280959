-- expect: 3: error: lanes: there is no type "float"; the types are "f16", "f32", "f64", "bf16", "i8" to "i64", "u8" to "u64"
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("col", target:lanes "float")
  end,
}
