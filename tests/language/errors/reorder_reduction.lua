-- expect: 4: error: reorder: names the loop "row" twice
-- expect+   usage: reorder(loops...)
return schedule "small" {
  apply = function(k, p, target)
    k.hist:update(0):reorder("box_y", "box_x")
    k.sum:update(0):reorder("row", "row")
  end,
}
