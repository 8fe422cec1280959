-- The same, where the split of its own loop has the guard.
-- params: type=float16
-- refused: is in registers, and only some of the threads that read it compute it
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("col", 32, "predicate", "ycol0o", "ycol0i")
    k.y:split("ycol0i", 2, "guard_with_if", "ycol1o", "ycol1i")
    k.y:reorder("ycol1i","ycol0o","ycol1o","row")
    k.y:gpu_blocks({"ycol1o","row"})
    k.y:gpu_threads({"ycol1i","ycol0o"})
    k.y:never_partition_all()
    local f0 = k.sum_sq
    f0:compute_at(k.y,"ycol1o")
    f0:store_in("register")
    f0:split("row", 33, "guard", "f0row0o", "f0row0i")
    f0:reorder("f0row0i","f0row0o")
    f0:gpu_threads({"f0row0i","f0row0o"})
    f0:update(0):split("row", 5, "guard", "f0urow0o", "f0urow0i")
    f0:update(0):split("col", 64, "guard", "f0ucol0o", "f0ucol0i")
    f0:update(0):split("f0ucol0i", 2, "guard", "f0ucol1o", "f0ucol1i")
    f0:update(0):reorder("f0urow0i","f0ucol1i","f0ucol1o","f0ucol0o","f0urow0o")
    f0:update(0):gpu_threads({"f0urow0o"})
    local f2 = k.h
    f2:compute_root()
    f2:split("col", 2, "predicate_loads", "f2col0o", "f2col0i")
    f2:reorder("f2col0i","row","f2col0o")
    f2:gpu_blocks("f2col0o")
    f2:gpu_threads("row")
    local f4 = k.weight:in_()
    f4:compute_at(k.y,"ycol1o")
    f4:store_in("gpu_shared")
    f4:gpu_threads({"_0"})
  end,
}
