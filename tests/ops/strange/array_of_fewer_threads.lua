-- An array of each thread of a nest that has fewer threads than its block, of a size that is not known: Halide 21 makes room for
-- these threads, and counts its elements by those of the block.
-- refused: array_of_fewer_threads.lua:11: error: compute_at: a_f is in registers, but its size is not known
return schedule "gemm" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_tile({ "col", "row" }, { 2, 4 }, "guard")
    k.acc:compute_at(k.y, "col_block"):gpu_threads "col"
    k.acc:update(0):gpu_threads "col"
    -- The nest of acc has two threads, and its block eight.
    k.a_f:compute_at(k.acc, "col")
  end,
}
