-- expect: 3: error: vectorize: there is no loop "rw" in sum:update(0); its loops are "r", "row", innermost first
-- expect+   did you mean "r"?
return schedule "small" {
  apply = function(k, p, target)
    k.sum:update(0):vectorize("rw", 8)
  end,
}
