-- expect: 5: error: an expression multiplies too many numbers: it may need more than 64 bits
-- expect+   a number of a schedule is computed in Lua as far as it is known there
return schedule "small" {
  apply = function(k, p, target)
    local n = k.x:dim(1):stride()
    local far = n
    for _ = 1, 50 do far = far * n end
    k.y:split("col", far)
  end,
}
