-- expect: 4: error: prefetch_over: the argument "offset" is -1, but must not be negative
return schedule "small" {
  apply = function(k, p, target)
    local _, row = k.y:split("row", 4)
    k.y:prefetch_over("col", k.x, row, -1)
  end,
}
