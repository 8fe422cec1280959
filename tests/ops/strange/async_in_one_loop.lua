-- Two Funcs in one loop, of which one has a thread of its own.
-- params: statistics=one_pass
-- refused: of which one is async
return schedule "layer_norm" {
  target = "cpu",
  apply = function(k)
    k.sum:compute_at(k.y, "row"):async()
    k.sum_sq:compute_at(k.y, "row"):compute_with(k.sum, "row")
  end,
}
