-- Along one dimension: blocks of eight threads, of which a nest of four has an array each in shared memory.
-- refused: store_in: puts a_in, which each thread of acc has for itself, in memory of the block
return schedule "gemm" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_tile({ "col" }, { 8 }, "guard")
    k.acc:compute_at(k.y, "col_block")
    for _, stage in ipairs { k.acc, k.acc:update(0) } do
      stage:split("col", 4, "guard", "outer", "inner")
      stage:gpu_threads "inner"
    end
    k.a:in_():compute_at(k.acc, "inner"):store_in "gpu_shared"
  end,
}
