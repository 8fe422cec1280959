-- expect: 3: error: set_extent: promises what no call can keep: access out of bounds ("Output buffer y", 0, y.min.0, y.extent.0 + y.min.0, y.min.0, (y.extent.0 + y.min.0) + -1)
return schedule "small" {
  apply = function(k, p, target)
    k.y:dim(0):set_extent(k.y:dim(0):extent() + 1)
  end,
}
