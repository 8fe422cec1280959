-- expect: 3: error: tile: names the loop "col" twice
-- expect+   usage: tile(loops, sizes, tail?, outers?, inners?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:tile({ "col", "col" }, { 4, 4 })
  end,
}
