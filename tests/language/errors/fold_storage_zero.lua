-- expect: 3: error: fold_storage: the argument "extent" is 0, but must be from 1 to 16777216
-- expect+   usage: fold_storage(dim, extent, forward?)
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():fold_storage("row", 0)
  end,
}
