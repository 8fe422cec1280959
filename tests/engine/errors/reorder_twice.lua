-- expect: 3: error: reorder: In schedule for y, call to reorder references col twice.
return schedule "small" {
  apply = function(k, p, target)
    k.y:reorder("col", "col")
  end,
}
