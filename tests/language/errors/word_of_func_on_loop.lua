-- expect: 4: error: compute_root: is a word of a Func, not of a Loop
-- expect+   write k.y:compute_root(...)
return schedule "small" {
  apply = function(k, p, target)
    local outer = k.y:split("row", 4)
    outer:compute_root()
  end,
}
