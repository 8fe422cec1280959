-- Nothing is copied from the device for the thread that reads.
-- refused: async: is for libraries that compute all on the host
-- params: add_bias=true
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k, p, target)
k.biased:compute_root():async():gpu_blocks{"row"}
  end }
