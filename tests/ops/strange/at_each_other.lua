-- Each of two Funcs is computed in a loop of the other.
-- refused: these loops are in each other
return schedule "softmax" {
  target = "cpu",
  apply = function(k)
    k.row_max:compute_at(k.row_sum, "row")
    k.row_sum:compute_at(k.row_max, "row")
  end,
}
