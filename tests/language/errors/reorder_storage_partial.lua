-- expect: 3: error: reorder_storage: reorder_storage must have at least two dimensions in reorder list.
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():reorder_storage("row")
  end,
}
