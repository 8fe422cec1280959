-- expect: 3: error: set_dim_estimate: takes sizes that are known before a call
-- expect+   give numbers, or what p and target say
return schedule "small" {
  apply = function(k, p, target)
    k.x:dim(0):set_dim_estimate(k.x:dim(1):extent(), 8)
  end,
}
