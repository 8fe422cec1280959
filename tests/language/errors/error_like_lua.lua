-- expect: 3: error: the script raised an empty message
return schedule "small" {
  apply = function(k, p, target)
    local _, text = pcall(function() error("") end)
    error(text:sub(1, -2), 0)
  end,
}
