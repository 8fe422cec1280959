-- expect: 3: error: vectorize: there is no loop "nope" in y; its loops are "col", "row", innermost first
return schedule "small" {
  apply = function(k, p, target)
    local function helper(f) f:vectorize("nope", 8) end
    helper(k.y)
  end,
}
