-- expect: 3: error: side_by_side: is for what is computed, and x is an input
return schedule "small" {
  apply = function(k, p, target)
    k.y:side_by_side(k.x)
  end,
}
