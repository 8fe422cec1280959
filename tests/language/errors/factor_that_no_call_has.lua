-- expect: 3: error: tile: promises what no call can keep: access out of bounds ("Input buffer x", 0, min(y.min.0, 0), (min(y.min.0, 0) + x.extent.0.required) + -1, x.min.0, (x.extent.0 + x.min.0) + -1)
return schedule "small" {
  apply = function(k)
    k.y:tile({ "col" }, { k.x:dim(0):min() }, nil, { "n1" }, { "n2" })
    k.f:compute_root()
  end,
}
