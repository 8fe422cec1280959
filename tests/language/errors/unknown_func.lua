-- expect: 3: error: there is no Func "summ" in this algorithm; there are "f", "g", "hist", "sum", "x", "y", "scale"
-- expect+   did you mean "sum"?
return schedule "small" {
  apply = function(k, p, target)
    k.summ:compute_root()
  end,
}
