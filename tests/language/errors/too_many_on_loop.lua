-- expect: 4: error: parallel: takes 2 arguments here, not 3
-- expect+   usage: parallel(task?, tail?)
return schedule "small" {
  apply = function(k, p, target)
    local outer, inner = k.y:split("row", 4)
    outer:parallel(2, "guard", 1)
  end,
}
