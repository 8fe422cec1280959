-- Of a row and a column more than there is along k: a promise of the generator held from the last element on alone.
-- params: scaling=block
return schedule "gemm_fp8" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_tile({ "col", "row" }, { 8, 8 }, "guard")
    k.a_f:compute_root():align_bounds("k", 128, 5):gpu_tile({ "k", "row" }, { 32, 4 }, "guard")
    k.b_f:compute_root():align_bounds("k", 128, 5):gpu_tile({ "k", "col" }, { 32, 4 }, "guard")
  end,
}
