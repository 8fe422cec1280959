-- expect: 4: error: prefetch_over: the argument "offset" is -1, but must be from 0 to 65536
-- expect+   usage: prefetch_over(over, func, loop, offset?, streamed?) or prefetch_over(over, func, func, "loop", offset?, streamed?)
return schedule "small" {
  apply = function(k, p, target)
    local _, row = k.y:split("row", 4)
    k.y:prefetch_over("col", k.x, row, -1)
  end,
}
