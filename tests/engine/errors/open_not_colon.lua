return schedule "small" {
  apply = function(k)
    k.open "f"
  end,
}
