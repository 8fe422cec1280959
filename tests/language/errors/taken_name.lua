-- expect: 3: error: split: y has a loop "row" already
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 8, "guard", "row", "c")
  end,
}
