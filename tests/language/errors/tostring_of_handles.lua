-- expect: 3: error: Func y, Stage sum:update(0), Loop y.line, Dimension x:dim(0)
return schedule "small" {
  apply = function(k, p, target)
    error(tostring(k.y) .. ", " .. tostring(k.sum:update(0)) .. ", " .. tostring(k.y:rename("row", "line")) .. ", " .. tostring(k.x:dim(0)))
  end,
}
