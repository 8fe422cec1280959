-- expect: 4: error: compute_at: a Func cannot be placed inside its own loop
-- expect+   name a loop of one of its consumers
return schedule "small" {
  apply = function(k, p, target)
    local row = k.g:rename("row", "line")
    k.g:compute_at(row)
  end,
}
