-- expect: 3: error: store_root: Func "f" is scheduled store_root(), but is inlined. Funcs that use store_root must also call compute_root or compute_at.
return schedule "small" {
  apply = function(k, p, target)
    k.f:store_root()
  end,
}
