-- expect: 3: error: dim: f is neither an input nor an output of the algorithm
-- expect+   for what is computed on the way, use bound, align_bounds or align_storage
return schedule "small" {
  apply = function(k, p, target)
    k.f:dim(0):set_bounds(0, 8)
  end,
}
