-- One of two values is computed from the other as it was, of which the loads are masked.
-- params: parts=4
-- refused: computes one of its values from another
return schedule "cross_entropy" {
  target = "cpu",
  apply = function(k)
    k.running:compute_root():update(0):split("row", 8, "predicate_loads", "a", "b")
  end,
}
