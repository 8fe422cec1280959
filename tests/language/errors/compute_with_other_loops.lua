-- expect: 5: error: compute_with: sum and f need each other's values, so their loops cannot be one
-- expect+   compute one at a loop of the other, with compute_at
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root()
    k.sum:compute_root()
    k.f:compute_with(k.sum, "row")
    k.f:split("row", 4)
  end,
}
