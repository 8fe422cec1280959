-- expect: 3: error: vectorize: how often "row" of y turns is not known before a call
-- expect+   split it by a number first, and vectorize the inner loop
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("row")
  end,
}
