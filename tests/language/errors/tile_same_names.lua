-- expect: 3: error: tile: makes two loops "col"
return schedule "small" {
  apply = function(k, p, target)
    k.y:tile({ "col", "row" }, { 4, 4 }, "auto", { "col", "row" }, { "col", "row" })
  end,
}
