-- 2^32 blocks, in 32 bits none.
-- params: add_bias=true
-- shape: rows=65536,cols=1
-- call: for arrays of these sizes its schedule wants 2^31 blocks, threads or bytes of shared memory or more
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("col", 65536, "guard", "o", "i")
    k.y:reorder("o","i","row"):gpu_blocks({"i","row"})
  end,
}
