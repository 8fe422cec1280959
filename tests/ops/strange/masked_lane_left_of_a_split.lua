-- The same of a loop that a guarded one was split into.
-- params: add_bias=true
-- refused: makes vectors of 17 lanes that end under a condition
return schedule "bias_activation" {
  target = "cpu",
  apply = function(k)
    k.y:split("col", 34, "guard", "tile", "in_tile")
    k.y:split("in_tile", 17, "auto", "half", "lane")
    k.y:vectorize "lane"
  end,
}
