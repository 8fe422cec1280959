-- expect: 3: error: reader_of: finds no reader 1 of x; it has 1, counted from 0
return schedule "small" {
  apply = function(k, p, target)
    k:reader_of(k.x, 1):compute_root()
  end,
}
