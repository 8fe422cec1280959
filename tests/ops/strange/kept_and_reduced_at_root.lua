-- The same, kept for the whole call.
-- refused: and each turn needs a part of it that moves with the loop and one that stays
return schedule "softmax" {
  target = "cpu",
  apply = function(k, p, target)
    k.row_max:compute_at(k.y, "col")
    k.row_sum:compute_at(k.y, "col")
    k.logits:compute_at(k.y, "col"):store_root()
  end,
}
