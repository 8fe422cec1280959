-- A sum that is placed nowhere has threads, and so is computed by each thread of its reader.
-- refused: is placed nowhere
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_tile({ "col", "row" }, { 16, 4 }, "guard")
    k.sum_sq:split("row", 16, "guard", "a", "b")
    k.sum_sq:gpu_threads "b"
  end,
}
