-- expect: 3: error: split: names both parts of "col" "c"
-- expect+   give them two names, or none
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 8, "guard", "c", "c")
  end,
}
