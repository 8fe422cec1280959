-- expect: 3: error: side_by_side: is for Funcs that need nothing of each other, and y needs f
-- expect+   compute one after the other
return schedule "small" {
  apply = function(k, p, target)
    k.f:side_by_side(k.y)
  end,
}
