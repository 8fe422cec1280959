-- expect: 4: error: an expression has more than 1000 operations
-- expect+   a number of a schedule is computed in Lua as far as it is known there
return schedule "small" {
  apply = function(k, p, target)
    local e = k.x:dim(0):extent()
    for i = 1, 100000 do e = e + i end
    k.y:split("col", e, "guard")
  end,
}
