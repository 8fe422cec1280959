-- expect: 3: error: unroll: the argument "factor" is 1000000000, but must be from 1 to 4096
-- expect+   usage: unroll(loop, factor?, tail?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:unroll("col", 1000000000, "guard")
  end,
}
