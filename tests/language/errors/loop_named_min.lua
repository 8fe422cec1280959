-- expect: 3: error: split: "min" cannot name a loop: Halide calls a variable so
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("row", 8, "guard", "min", "r")
  end,
}
