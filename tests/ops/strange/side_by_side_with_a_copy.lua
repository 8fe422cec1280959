-- A Func beside the copy that it reads.
-- params: add_bias=true
-- refused: need nothing of each other, and y needs x_in
return schedule "bias_activation" {
  target = "cpu",
  apply = function(k)
    local copy = k.x:in_()
    copy:compute_root():parallel "_1"
    k.y:parallel "row"
    k.y:side_by_side(copy)
  end,
}
