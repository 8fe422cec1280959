-- Vectors under a condition of one lane more than a register has.
-- params: add_bias=true
-- refused: makes vectors of 9 lanes that end under a condition
return schedule "bias_activation" {
  target = "cpu",
  apply = function(k) k.y:vectorize("col", 9, "guard") end,
}
