-- expect: 3: error: compute_root: is a word of a Func, not of an Expr
return schedule "small" {
  apply = function(k, p, target)
    k.scale:compute_root()
  end,
}
