-- 2048 threads in a block.
-- refused: has blocks of 64 x 1 x 32 threads; a device takes 1024
return schedule "transpose" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("col", 7, "predicate", "ycol0o", "ycol0i")
    k.y:split("ycol0i", 64, "guard", "ycol1o", "ycol1i")
    k.y:split("row", 32, "guard", "yrow1o", "yrow1i")
    k.y:reorder("ycol1o","ycol1i","ycol0o","yrow1i","yrow1o")
    k.y:gpu_blocks({"yrow1o"})
    k.y:gpu_threads({"ycol1i","ycol0o","yrow1i"})
  end,
}
