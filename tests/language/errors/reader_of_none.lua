-- expect: 3: error: reader_of: y is read by no Func
return schedule "small" {
  apply = function(k, p, target)
    k:reader_of(k.y):compute_root()
  end,
}
