-- expect: 3: error: dim: x has the dimensions 0 to 1, not 2
return schedule "small" {
  apply = function(k, p, target)
    k.x:dim(2)
  end,
}
