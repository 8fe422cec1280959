-- expect: 3: error: arithmetic works on expressions and integers of 32 bits only
return schedule "small" {
  apply = function(k, p, target)
    local e = k.x:dim(0):extent() + "x"
  end,
}
