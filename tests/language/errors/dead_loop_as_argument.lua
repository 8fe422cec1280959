-- expect: 5: error: reorder: the loop "row_outer" of y is no more: it was split, fused or renamed
-- expect+   usage: reorder(loops...)
return schedule "small" {
  apply = function(k, p, target)
    local outer, inner = k.y:split("row", 8)
    outer:rename "rows"
    k.y:reorder("col", outer)
  end,
}
