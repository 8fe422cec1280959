-- Of two values of a Func one is read on the host and on the device, the other on the device alone.
-- params: weights=given,top_k=5,softmax_first=false
return schedule "moe_router" {
  target = "cuda",
  apply = function(k)
    k.scores:gpu_blocks { "i", "row" }
    k.chosen:compute_root():gpu_blocks { "row" }
  end,
}
