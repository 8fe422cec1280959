-- 4 GiB of shared memory, in 32 bits none.
-- params: add_bias=true
-- shape: rows=16384,cols=1
-- call: for arrays of these sizes its schedule wants 2^31 blocks, threads or bytes of shared memory or more
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("row",32768,"guard","ro","ri")
    k.y:reorder("col","ri","ro"):gpu_blocks("ro")
    local f=k.x:in_()
    f:compute_at(k.y,"ro")
    f:store_in("gpu_shared"):align_storage("_0",65536)
  end,
}
