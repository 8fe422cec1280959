-- expect: 3: error: prefetch_over: the argument "offset" is 4294967297, but must be from 0 to 65536
-- expect+   usage: prefetch_over(over, func, loop, offset?, streamed?) or prefetch_over(over, func, func, "loop", offset?, streamed?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:prefetch_over("col", k.x, k.y, "row", 4294967297)
  end,
}
