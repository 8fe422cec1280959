-- A consumer without threads, guarded for those of what it reads.
-- params: add_bias=true
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("col", 16, "guard", "ycol0o", "ycol0i")
    k.y:split("row", 4, "guard", "yrow0o", "yrow0i")
    k.y:gpu_blocks({"yrow0o"})
    k.y:unroll("ycol0i")
    local f1 = k.bias:in_()
    f1:compute_at(k.y,"yrow0o")
    f1:split("_0", 16, "guard", "f1u01o", "f1u01i")
    f1:gpu_threads({"f1u01o","f1u01i"})
  end,
}
