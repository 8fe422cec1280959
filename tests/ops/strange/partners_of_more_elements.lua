-- Partners of elements beyond a head lie nowhere.
return schedule "rope" {
  target = "cuda",
  generator = { granule = 1 },
  apply = function(k)
    k.y:gpu_tile({ "i", "head" }, { 16, 4 }, "guard") k.y:gpu_blocks "token"
    k.swapped:compute_root():align_bounds("i", 4096)
    k.swapped:gpu_tile({ "i", "head" }, { 64, 1 }, "guard") k.swapped:gpu_blocks "token"
  end,
}
