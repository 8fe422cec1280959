-- expect: 3: error: unroll: how often "col" of y turns is not known before a call
-- expect+   split it by a number first, and unroll the inner loop
return schedule "small" {
  apply = function(k, p, target)
    k.y:unroll("col")
  end,
}
