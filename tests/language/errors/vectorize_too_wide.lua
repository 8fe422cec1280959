-- expect: 3: error: vectorize: the argument "lanes" is 1048576, but must be from 1 to 1024
-- expect+   usage: vectorize(loop, lanes?, tail?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("col", 1 << 20)
  end,
}
