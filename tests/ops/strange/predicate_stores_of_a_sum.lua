-- Turns beyond the end of a sum read elements of the block that no thread had written.
-- params: type=float32
return schedule "softmax" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("row", 8, "guard", "ro", "ri")
    k.y:reorder("ri", "col", "ro")
    k.y:gpu_blocks({ "ro" })
    k.y:gpu_threads({ "ri" })
    for _, f in ipairs({ k.row_sum, k.row_max, k.logits }) do
      f:compute_at(k.y, "ro"):store_in "gpu_shared"
      f:gpu_threads({ "row" })
    end
    k.row_sum:update(0):split("row", 8, "predicate_stores", "a", "b")
    k.row_sum:update(0):gpu_threads({ "a" })
    k.row_max:update(0):gpu_threads({ "row" })
  end,
}
