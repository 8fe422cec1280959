-- expect: 3: error: reader_of: f is read by several: "g", "sum"
-- expect+   say which, counted from 0 in this order: k:reader_of(k.f, 0)
return schedule "small" {
  apply = function(k, p, target)
    k:reader_of(k.f):compute_root()
  end,
}
