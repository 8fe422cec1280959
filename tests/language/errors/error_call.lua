-- expect: 3: error: rows must be even
return schedule "small" {
  apply = function(k, p, target)
    error("rows must be even")
  end,
}
