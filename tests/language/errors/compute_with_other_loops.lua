-- expect: 5: error: compute_with: Invalid compute_with: there is dependency between sum and f
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root()
    k.sum:compute_root()
    k.f:compute_with(k.sum, "row")
    k.f:split("row", 4)
  end,
}
