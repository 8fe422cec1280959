-- expect: 3: error: reduction: works on an update stage
-- expect+   write `hist:update(0):reduction(0)`
return schedule "small" {
  apply = function(k, p, target)
    k.hist:reduction(0):unroll(4)
  end,
}
