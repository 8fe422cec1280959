-- A kernel over the elements of an empty array.
-- params: weights=nk
-- shape: m=2,n=3,k=0
return schedule "gemm_int8" {
  target = "cuda",
  apply = function(k)
    k.a_u:compute_root():gpu_blocks { "row" }
    k.a_u:gpu_threads { "k" }
  end,
}
