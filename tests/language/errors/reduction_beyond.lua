-- expect: 3: error: reduction: hist:update(0) has no reduction loop 2; it has 2, counted from 0
return schedule "small" {
  apply = function(k, p, target)
    k.hist:update(0):reduction(2):unroll(4)
  end,
}
