-- Nests of no threads in two dimensions, where k is 0.
-- params: weights=nk
return schedule "swiglu" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_blocks{"row"}
    local p=k.up:update(0):rfactor("k",{"u"})
    p:compute_at(k.y,"row"):split("u",8,"guard","a","b")
    p:gpu_threads{"b","a"}
  end,
}
