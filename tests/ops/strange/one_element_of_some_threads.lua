-- One element in registers, which one thread of two dimensions computes and all read.
-- params: type=float16
-- refused: is in registers, and only some of the threads that read it compute it
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("col", 33, "predicate", "ycol1o", "ycol1i")
    k.y:split("row", 32, "guard_with_if", "yrow0o", "yrow0i")
    k.y:reorder("ycol1i","ycol1o","yrow0o","yrow0i")
    k.y:gpu_blocks({"yrow0o","yrow0i"})
    k.y:gpu_threads({"ycol1i","ycol1o"})
    local f0 = k.sum_sq
    f0:compute_at(k.y,"yrow0o")
    f0:store_in("heap")
    f0:gpu_threads({"row"})
    f0:update(0):split("row", 8, "guard", "f0urow0o", "f0urow0i")
    f0:update(0):split("f0urow0o", 8, "guard", "f0urow1o", "f0urow1i")
    f0:update(0):gpu_threads({"f0urow1o"})
    local f1 = k.inv_rms
    f1:compute_at(k.y,"yrow0o")
    f1:store_in("register")
    f1:split("row", 32, "guard", "f1row0o", "f1row0i")
    f1:split("f1row0i", 5, "guard", "f1row1o", "f1row1i")
    f1:reorder("f1row1o","f1row0o","f1row1i")
    f1:gpu_threads({"f1row1o","f1row1i"})
    local f2 = k.h
    f2:compute_at(k.y,"yrow0o")
    f2:store_in("gpu_shared")
    f2:split("col", 33, "guard", "f2col0o", "f2col0i")
    f2:split("f2col0i", 33, "guard", "f2col1o", "f2col1i")
    f2:split("row", 8, "predicate", "f2row0o", "f2row0i")
    f2:reorder("f2row0i","f2col0o","f2col1i","f2row0o","f2col1o")
    f2:gpu_threads({"f2col1i"})
  end,
}
