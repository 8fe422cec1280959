-- expect: 3: error: vectorize: is called without the Func, stage or loop that it is for
-- expect+   write a colon: k.y:vectorize(...)
return schedule "small" {
  apply = function(k, p, target)
    k.y.vectorize("col", 8)
  end,
}
