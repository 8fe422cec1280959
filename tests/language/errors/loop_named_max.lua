-- expect: 3: error: tile: "max" cannot name a loop: Halide calls a variable so
-- expect+   usage: tile(loops, sizes, tail?, outers?, inners?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:tile({ "col", "row" }, { 8, 2 }, "guard", { "a", "max" }, { "b", "c" })
  end,
}
