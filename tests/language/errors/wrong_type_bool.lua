-- expect: 3: error: fold_storage: the argument "forward" must be true or false, not a number
-- expect+   usage: fold_storage(dim, extent, forward?)
return schedule "small" {
  apply = function(k, p, target)
    k.g:compute_root():fold_storage("col", 4, 1)
  end,
}
