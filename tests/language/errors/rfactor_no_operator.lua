-- expect: 3: error: rfactor: there is no loop "box_z" in hist:update(0); its loops are "box_x", "box_y", innermost first
-- expect+   did you mean "box_x"?
return schedule "small" {
  apply = function(k, p, target)
    k.hist:update(0):rfactor("box_z")
  end,
}
