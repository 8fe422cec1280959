-- Vectors under a condition into a Func of one element, in a register.
-- params: weights=nk
return schedule "gemm_int8" {
  target = "cuda",
  apply = function(k)
    k.activated:compute_root():gpu_blocks { "row" }
    k.activated:gpu_threads { "col" }
    k.linear:compute_at(k.activated, "col"):vectorize("row", 8, "guard")
  end,
}
