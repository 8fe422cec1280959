-- Arrays of bytes and of numbers that a block keeps in device memory.
-- params: weights=nk
-- refused: Halide puts what a block keeps in device memory into one array
return schedule "gemm_int8" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_blocks { "row" }
    k.a_u:compute_at(k.y, "row"):store_in "heap"
    k.linear:compute_at(k.y, "row"):store_in "heap"
  end,
}
