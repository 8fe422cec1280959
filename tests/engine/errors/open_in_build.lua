return schedule "small" {
  apply = function(k)
    k.y:parallel "row"
    k:open()
  end,
}
