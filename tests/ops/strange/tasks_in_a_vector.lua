-- A loop over tasks within a vector: wrong sums.
-- refused: vectorize: makes a vector of a loop of row_sum that is around its loop
return schedule "softmax" {
  target = "cpu",
  apply = function(k, p, target)
    k.row_sum:compute_root()
    local u = k.row_sum:update(0)
    u:split("row", 64, "guard", "o", "i") u:reorder("i","o","col")
    u:vectorize("i", 8, "guard")
    u:atomic():vectorize("col", 8, "guard")
    u:parallel("o")
  end,
}
