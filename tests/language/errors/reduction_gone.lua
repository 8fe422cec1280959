-- expect: 3: error: reduction: the loop "box_x" of hist:update(0) is no more: it was split, fused or renamed
-- expect+   ask for it before that
return schedule "small" {
  apply = function(k, p, target)
    k.hist:update(0):split("box_x", 4, "auto", "a", "b"); k.hist:update(0):reduction(0)
  end,
}
