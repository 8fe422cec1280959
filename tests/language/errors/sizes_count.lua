-- expect: 3: error: tile: has 2 loops but 1 sizes
return schedule "small" {
  apply = function(k, p, target)
    k.y:tile({ "col", "row" }, { 8 })
  end,
}
