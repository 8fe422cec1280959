-- A loop of the host in vectors, around blocks: what is the same in all blocks is a vector, and a kernel takes single numbers.
return schedule "group_norm" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_tile({ "w" }, { 4 }, "guard")
    k.y:vectorize("c", 4, "guard")
    k.sum:compute_at(k.y, "w_block")
    k.normalised:compute_at(k.y, "w_block")
  end,
}
