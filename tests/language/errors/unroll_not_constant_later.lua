-- expect: 5: error: unroll: Can only unroll for loops over a constant extent.
-- expect+ Loop over f.s0.row has extent (max(y.extent.1 + y.min.1, x.extent.1) - min(y.min.1, 0)).
return schedule "small" {
  apply = function(k, p, target)
    k.y:parallel("row")
    k.f:compute_root()
    k.f:unroll("row")
    k.f:parallel("col")
  end,
}
