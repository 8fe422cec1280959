-- expect: 3: error: set_extent: promises what no call can keep: the extent of y in dimension 0 is never this expression
return schedule "small" {
  apply = function(k, p, target)
    k.y:dim(0):set_extent(k.y:dim(0):extent() + 1)
  end,
}
