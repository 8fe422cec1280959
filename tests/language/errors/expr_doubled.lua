-- expect: 4: error: an expression multiplies too many numbers: it may need more than 64 bits
-- expect+   a number of a schedule is computed in Lua as far as it is known there
return schedule "small" {
  apply = function(k, p, target)
    local e = k.x:dim(0):extent()
    for i = 1, 40 do e = e * e end
    k.y:split("col", e, "guard")
  end,
}
