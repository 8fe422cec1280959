-- expect: 3: error: reorder_storage: needs two dimensions or more to put into an order
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():reorder_storage("row")
  end,
}
