-- expect: 3: error: tile: needs as many names as loops
return schedule "small" {
  apply = function(k, p, target)
    k.y:tile({ "col", "row" }, { 8, 8 }, "guard", { "a" })
  end,
}
