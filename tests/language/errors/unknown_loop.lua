-- expect: 3: error: vectorize: there is no loop "cal" in y; its loops are "col", "row", innermost first
-- expect+   did you mean "col"?
return schedule "small" {
  apply = function(k, p, target)
    k.y:vectorize("cal", 8)
  end,
}
