-- An array for the threads of one dimension, which has it in registers.
-- params: add_bias=true
-- refused: a thread reads an element that another thread has
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k, p, target)
    local cb, rb, ct, rt = k.y:gpu_tile({"col","row"}, {16, 8}, "guard")
    local f = k.x:in_()
    f:compute_at(rt):store_in "register"
  end,
}
