-- expect: 3: error: ring_buffer: the argument "extent" is 1000, but must be from 1 to 64
-- expect+   usage: ring_buffer(extent)
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():ring_buffer(1000)
  end,
}
