-- expect: 3: error: split: In schedule for y, can't split col into c and c because the new Vars have the same name.
-- expect+ Vars: col row __outermost
return schedule "small" {
  apply = function(k, p, target)
    k.y:split("col", 8, "guard", "c", "c")
  end,
}
