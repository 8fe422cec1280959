-- expect: 4: error: vectorize: the loop "row_outer" is one of f, not of y
-- expect+   usage: vectorize(loop, lanes?, tail?)
return schedule "small" {
  apply = function(k, p, target)
    local outer = k.f:split("row", 4)
    k.y:vectorize(outer)
  end,
}
