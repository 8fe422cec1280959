-- expect: 5: error: compute_at: the loop "row_outer" of y is no more: it was split, fused or renamed
-- expect+   usage: compute_at(loop) or compute_at(func, "loop")
return schedule "small" {
  apply = function(k, p, target)
    local outer, inner = k.y:split("row", 8)
    outer:split(4)
    k.f:compute_at(outer)
  end,
}
