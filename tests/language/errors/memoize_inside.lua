-- expect: 3: error: memoize: keeps results that depend on the elements of x, which another call may have changed
-- expect+   leave it out: memoize is for what follows from scalars alone
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_at(k.g, "col"):memoize()
    k.g:compute_root():parallel("row")
  end,
}
