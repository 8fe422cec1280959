-- Threads inside of the threads of its consumer.
-- params: add_bias=true
-- refused: puts the loops over threads of x_in inside of those of y
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k, p, target)
    local cb, rb, ct, rt = k.y:gpu_tile({"col","row"}, {16, 8}, "guard")
    local f = k.x:in_()
    f:compute_at(ct):store_in "register"
    f:split("_0",4,"guard","a","b") f:gpu_threads("b")
  end,
}
