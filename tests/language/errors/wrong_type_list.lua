-- expect: 3: error: tile: the argument "loops" must be a list of loops, not a string
-- expect+   usage: tile(loops, sizes, tail?, outers?, inners?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:tile("col", 8)
  end,
}
