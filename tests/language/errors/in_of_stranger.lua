-- expect: 3: error: in_: Cannot wrap "x_im" in "y" because "y" does not call "x_im"
-- expect+ Direct callees of "y" are:
-- expect+   g
return schedule "small" {
  apply = function(k, p, target)
    k.x:in_(k.y)
  end,
}
