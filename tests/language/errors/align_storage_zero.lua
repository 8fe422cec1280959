-- expect: 3: error: align_storage: the argument "alignment" is 0, but must be from 1 to 65536
-- expect+   usage: align_storage(dim, alignment)
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():align_storage("row", 0)
  end,
}
