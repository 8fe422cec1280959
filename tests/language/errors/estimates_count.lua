-- expect: 3: error: set_estimates: needs a min and an extent for each of the 2 dimensions
return schedule "small" {
  apply = function(k, p, target)
    k.y:set_estimates { 0, 8 }
  end,
}
