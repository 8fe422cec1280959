-- A nest of no threads beside one of one thread, where k is 0: Halide has one thread for that, but forgets it.
-- params: weights=nk
return schedule "gemm" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_blocks{"row"}
    k.a_f:compute_at(k.y,"row"):gpu_threads{"k"}
    k.acc:compute_at(k.y,"row")
  end,
}
