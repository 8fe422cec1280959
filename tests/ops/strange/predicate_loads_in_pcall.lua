-- A word that was refused and caught.
-- params: parts=4
-- refused: computes one of its values from another
return schedule "cross_entropy" {
  target = "cpu",
  apply = function(k)
    k.running:compute_root()
    pcall(function() k.running:update(0):split("row", 8, "predicate_loads", "a", "b") end)
  end,
}
