-- expect: 3: error: reorder: names the loop "col" twice
-- expect+   usage: reorder(loops...)
return schedule "small" {
  apply = function(k, p, target)
    k.y:reorder("col", "col")
  end,
}
