-- An array of 16 MB on the stack of who calls.
-- refused: is on the stack with 16000000 bytes
return schedule "rms_norm" {
  target = "cpu",
  apply = function(k)
    k.x:in_():compute_at(k.y, "row"):store_in "register":bound_storage("_0", 4000000)
  end,
}
