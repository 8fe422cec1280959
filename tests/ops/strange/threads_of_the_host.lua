-- A kernel whose threads are said to be the host's.
-- refused: which the device "host" has not
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k)
    k.sum_sq:compute_root():gpu_single_thread()
    k.sum_sq:update(0):gpu_single_thread()
    k.y:gpu_tile({ "row", "col" }, { 4, 4 }, "guard", "host")
  end,
}
