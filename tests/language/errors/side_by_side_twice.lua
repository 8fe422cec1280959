-- expect: 3: error: side_by_side: has y twice
return schedule "small" {
  apply = function(k, p, target)
    k.y:side_by_side(k.y)
  end,
}
