-- Loops over blocks and threads that are said to be others in the end.
-- params: add_bias=true
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_blocks "row":gpu_threads "col"
    k.y:serial "row":parallel "col"
  end,
}
