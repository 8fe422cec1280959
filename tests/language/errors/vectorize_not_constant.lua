-- expect: 3: error: vectorize: Can only vectorize for loops over a constant extent.
-- expect+ Loop over y.s0.row has extent y.extent.1.
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("row")
  end,
}
