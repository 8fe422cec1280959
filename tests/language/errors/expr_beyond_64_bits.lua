-- expect: 4: error: an expression multiplies too many numbers: it may need more than 64 bits
-- expect+   a number of a schedule is computed in Lua as far as it is known there
return schedule "small" {
  apply = function(k, p, target)
    local n = k.x:dim(1):stride()
    local far = n * n * n * n * n * n * n * n * n * n * n * n
    k.y:split("col", far)
  end,
}
