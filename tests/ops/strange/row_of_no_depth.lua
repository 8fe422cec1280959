-- A row of 64 elements in the kernel of the output, where there are none: it was read in a kernel that has to be launched.
-- params: activations=int8
-- shape: m=13,n=5,k=0
return schedule "gemm_q" {
  target = "cuda",
  apply = function(k)
    local columns, col = k.y:split("col", 8, "guard")
    local rows, row = k.y:split("row", 8, "guard")
    k.y:reorder(col, row, columns, rows):gpu_blocks({ columns, rows }):gpu_threads { col, row }
    k.a_f:compute_at(columns):bound_extent("k", 64):gpu_threads { "k", "row" }
  end,
}
