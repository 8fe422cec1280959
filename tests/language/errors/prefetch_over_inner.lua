-- expect: 4: error: prefetch_over: is for inputs and outputs, and f is neither
return schedule "small" {
  apply = function(k, p, target)
    local _, row = k.y:split("row", 4)
    k.y:prefetch_over("col", k.f, row)
  end,
}
