-- The same, by tile.
-- params: weights=given
-- refused: tile: 
return schedule "moe_router" {
  target = "cpu",
  apply = function(k, p, target)
    k.chosen:compute_root()
    k.order:compute_root()
    k.top:compute_root()
    k.top:update(0):tile({ "row", "r_x" }, { 2, 2 }, "guard")
  end,
}
