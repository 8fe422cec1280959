-- Lanes of one stage of a kernel, and beside it stages without.
-- refused: a loop of gpu_lanes is not the outermost
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k)
    k.y:split("col", 32, "guard", "co", "ci")
    k.y:gpu_blocks("row")
    k.y:gpu_lanes("ci")
    k.sum_sq:compute_at(k.y, "co")
    k.inv_rms:compute_at(k.y, "ci")
  end,
}
