-- Threads that run ahead begin sums anew while those of the turn before are still read.
-- refused: async: is for a Func without updates where it is stored further out
return schedule "gemm" {
  target = "cpu",
  apply = function(k)
    k.y:fuse("col", "row", "f"):split(5, "guard", "a", "b")
    k.acc:compute_at(k.y, "a"):store_root():async()
  end,
}
