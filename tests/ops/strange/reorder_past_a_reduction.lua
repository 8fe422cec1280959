-- A reduction loop changes places with one that is not named.
-- params: weights=given
-- refused: reorder: 
return schedule "moe_router" {
  target = "cpu",
  apply = function(k, p, target)
    k.chosen:compute_root()
    k.order:compute_root()
    k.top:compute_root()
    k.top:update(0):reorder("row", "r_x")
  end,
}
