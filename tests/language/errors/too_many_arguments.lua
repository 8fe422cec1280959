-- expect: 3: error: vectorize: takes 3 arguments here, not 4
-- expect+   usage: vectorize(loop, lanes?, tail?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("col", 8, "guard", 4)
  end,
}
