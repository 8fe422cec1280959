-- Reductions that are placed nowhere are computed in threads and, in the same block, outside of them.
-- params: weights=given,top_k=2,search=maxima
-- refused: both would be in one array of the block
return schedule "moe_router" {
  target = "cuda",
  apply = function(k)
    k.scores:gpu_tile({ "row", "i" }, { 16, 4 }, "guard")
    k.sum:compute_at(k.scores, "row_block")
  end,
}
