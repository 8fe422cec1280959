-- The sum of a row in the buffer of another row.
-- refused: is for a Func without updates
return schedule "rms_norm" {
  target = "cpu",
  apply = function(k) k.sum_sq:compute_at(k.y, "row"):hoist_storage_root():ring_buffer(2) end,
}
