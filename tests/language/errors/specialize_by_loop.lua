-- expect: 6: error: specialize_fail: is said a second time of this stage
-- expect+   leave one of them out
return schedule "small" {
  apply = function(k, p, target)
    k.y:specialize((k.scale:eq(1)) )
    k.y:specialize(k.x:dim(0):extent():eq(4)):specialize_fail("no")
    k.y:specialize_fail("never")
    k.y:specialize_fail("never again")
  end,
}
