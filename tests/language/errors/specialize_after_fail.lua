-- expect: 4: error: specialize: comes after specialize_fail, which is for all calls that are left
-- expect+   put it before
return schedule "small" {
  apply = function(k, p, target)
    k.y:specialize_fail("no")
    k.y:specialize(k.x:dim(0):extent():eq(8))
  end,
}
