-- A clone that is placed nowhere has threads, and so is computed by each thread of its reader.
-- refused: is placed nowhere
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_tile({ "col", "row" }, { 16, 4 }, "guard")
    local clone = k.sum_sq:clone_in(k.inv_rms)
    clone:split("row", 16, "guard", "a", "b")
    clone:gpu_threads "b"
  end,
}
