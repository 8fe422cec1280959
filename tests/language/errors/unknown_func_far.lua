-- expect: 3: error: there is no Func "tile" in this algorithm; there are "f", "g", "hist", "sum", "x", "y", "scale"
return schedule "small" {
  apply = function(k, p, target)
    k.tile:compute_root()
  end,
}
