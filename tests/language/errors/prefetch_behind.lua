-- expect: 3: error: prefetch: the argument "offset" is -1, but must be from 0 to 1048576
-- expect+   usage: prefetch(func, at, from, offset?, strategy?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:prefetch(k.x, "col", "col", -1)
  end,
}
