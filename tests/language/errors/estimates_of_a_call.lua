-- expect: 3: error: set_estimates: takes sizes that are known before a call
-- expect+   give numbers, or what p and target say
return schedule "small" {
  apply = function(k, p, target)
    k.y:set_estimates { 0, 8, 0, k.x:dim(1):extent() }
  end,
}
