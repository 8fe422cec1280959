-- A CUDA library whose Funcs are all computed on the host.
-- params: activation=gelu_erf
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k)
    k.y:vectorize("col", 8, "guard")
  end,
}
