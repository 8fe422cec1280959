-- expect: 5: error: unroll: how often "row" of f turns is not known before a call
-- expect+   split it by a number first, and unroll the inner loop
return schedule "small" {
  apply = function(k, p, target)
    k.y:parallel("row")
    k.f:compute_root()
    k.f:unroll("row")
    k.f:parallel("col")
  end,
}
