-- The guard of a single thread stands with another, of what is loaded too.
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("row", 4, "guard", "ro", "ri")
    k.y:reorder("ri","ro","col")
    k.y:gpu_blocks({"col"})
    k.y:gpu_threads({"ri","ro"})
    k.sum_sq:compute_at(k.y,"col"):gpu_threads({"row"})
    k.sum_sq:update(0):gpu_threads({"row"})
  end,
}
