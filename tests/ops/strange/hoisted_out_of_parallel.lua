-- Halide does not say that it is about where storage is hoisted to.
-- refused: hoist_storage_root: the storage of acc is hoisted
return schedule "gemm" {
  target = "cpu",
  apply = function(k)
    k.y:parallel("row")
    k.acc:compute_at(k.y, "col"):hoist_storage_root()
  end,
}
