-- expect: 3: error: vectorise: there is no such word for a Func
-- expect+   did you mean "vectorize"?
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorise("col", 8)
  end,
}
