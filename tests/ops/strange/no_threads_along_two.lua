-- Nests of no threads in two dimensions, where k is 0.
-- params: weights=nk
return schedule "swiglu" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_blocks{"row"}
    k.x_f:compute_at(k.y,"row"):split("k",8,"guard","a","b")
    k.x_f:gpu_threads{"b","a"}
  end,
}
