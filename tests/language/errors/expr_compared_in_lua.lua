-- expect: 3: error: an expression has its value when the library runs: write a condition for specialize, as in k.x:dim(0):extent():at_least(64)
return schedule "small" {
  apply = function(k, p, target)
    if k.x:dim(0):extent() > 4 then k.f:compute_root() end
  end,
}
