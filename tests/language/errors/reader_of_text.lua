-- expect: 3: error: reader_of: takes a Func, and which of its readers is meant
-- expect+   write k:reader_of(k.y) or k:reader_of(k.y, 0)
return schedule "small" {
  apply = function(k, p, target)
    k:reader_of "x"
  end,
}
