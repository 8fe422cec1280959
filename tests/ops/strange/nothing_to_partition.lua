-- Halide says of loops over threads only that one is; the word that was said of it has a line.
-- refused: asks for a middle without guards of a loop that has none
return schedule "bias_activation" {
  target = "cuda",
  apply = function(k)
    k.y:gpu_tile({ "col" }, { 8 }, "guard")
    k.y:always_partition("col_block", "row", "col_thread")
  end,
}
