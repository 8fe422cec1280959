-- expect: 3: error: unroll: Can only unroll for loops over a constant extent.
-- expect+ Loop over y.s0.col has extent y.extent.0.
return schedule "small" {
  apply = function(k, p, target)
    k.y:unroll("col")
  end,
}
