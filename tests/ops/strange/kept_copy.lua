-- A copy of what a row needs whole and, from turn to turn, at the loop.
-- refused: and each turn needs a part of it that moves with the loop and one that stays
return schedule "rms_norm" {
  target = "cpu",
  apply = function(k)
    k.x:in_():compute_at(k.y, "col"):store_at(k.y, "row")
  end,
}
