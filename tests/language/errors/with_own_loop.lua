-- expect: 3: error: compute_with: Cannot schedule g to be computed with "row" of g
return schedule "small" {
  apply = function(k, p, target)
    k.g:compute_with(k.g, "row")
  end,
}
