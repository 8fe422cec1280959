-- expect: 4: error: an expression divides by 0
return schedule "small" {
  apply = function(k)
    local n = k.x:dim(0):extent()
    k.y:specialize((n // (n - n)):eq(1))
  end,
}
