-- Registers shared out over threads whose number is known when it runs.
-- params: add_bias=true
-- refused: shared out over threads whose number is only known when it runs
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("col", 24, "guard", "ycol0o", "ycol0i")
    k.y:reorder("row","ycol0o","ycol0i")
    k.y:gpu_blocks({"ycol0i"})
    k.y:gpu_threads({"row","ycol0o"})
    local f1 = k.bias:in_()
    f1:compute_at(k.y,"ycol0i")
    f1:store_in("register")
    f1:gpu_threads({"_0"})
    f1:bound_extent("_0", 8)
  end,
}
