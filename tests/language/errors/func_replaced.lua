-- expect: 3: error: the Funcs of the algorithm cannot be replaced
return schedule "small" {
  apply = function(k, p, target)
    k.y = k.f
  end,
}
