-- expect: 4: error: reorder: In schedule for sum.update(0), call to reorder references row twice.
return schedule "small" {
  apply = function(k, p, target)
    k.hist:update(0):reorder("box_y", "box_x")
    k.sum:update(0):reorder("row", "row")
  end,
}
