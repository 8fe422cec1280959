-- expect: 3: error: compute_root: is called without the Func, stage or loop that it is for
-- expect+   write a colon: k.y:compute_root(...)
return schedule "small" {
  apply = function(k, p, target)
    k.y.compute_root()
  end,
}
