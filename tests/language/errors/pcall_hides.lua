-- expect: 4: error: and goes on
return schedule "small" {
  apply = function(k, p, target)
    local ok = pcall(function() k.y:vectorize("nope", 8) end)
    assert(ok, "and goes on")
  end,
}
