-- expect: 4: error: specialize: Cannot add new specializations after specialize_fail().
return schedule "small" {
  apply = function(k, p, target)
    k.y:specialize_fail("no")
    k.y:specialize(k.x:dim(0):extent():eq(8))
  end,
}
