-- expect: 3: error: bound_storage: the argument "bound" is 0, but must be 1 or more
-- expect+   usage: bound_storage(dim, bound)
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():bound_storage("row", 0)
  end,
}
