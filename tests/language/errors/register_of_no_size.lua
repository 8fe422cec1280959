-- expect: 3: error: store_in: how much memory f needs is not known before a call, and this memory is of a fixed size
-- expect+   compute it in a loop that needs a fixed part of it, or say k.f:bound_extent(dim, extent)
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():store_in "register"
  end,
}
