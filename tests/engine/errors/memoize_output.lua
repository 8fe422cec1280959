-- expect: 3: error: memoize: Can't compile Pipeline with memoized output Func: y. Memoization is valid only on intermediate Funcs because it takes control of buffer allocation.
return schedule "small" {
  apply = function(k, p, target)
    k.y:memoize()
  end,
}
