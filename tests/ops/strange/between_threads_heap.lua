-- An array for the threads of one dimension, in memory of the block.
-- params: add_bias=true
-- refused: between two loops over threads of y, where some threads share it and others do not
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k, p, target)
    local cb, rb, ct, rt = k.y:gpu_tile({"col","row"}, {16, 8}, "guard")
    local f = k.x:in_()
    f:compute_at(rt):store_in "heap"
  end,
}
