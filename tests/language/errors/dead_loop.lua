-- expect: 5: error: parallel: the loop "row_outer" of y is no more: it was split, fused or renamed
return schedule "small" {
  apply = function(k, p, target)
    local outer, inner = k.y:split("row", 8)
    outer:split(4)
    outer:parallel()
  end,
}
