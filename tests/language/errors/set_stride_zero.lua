-- expect: 3: error: set_stride: the argument "stride" is 0, with which all elements of an output would be one
-- expect+   only an input may repeat itself
return schedule "small" {
  apply = function(k, p, target)
    k.y:dim(1):set_stride(0)
  end,
}
