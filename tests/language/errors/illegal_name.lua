-- expect: 3: error: split: "a.b" cannot name a loop: use letters, digits and _
-- expect+   usage: split(loop, factor, tail?, outer?, inner?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 8, "guard", "a.b", "c")
  end,
}
