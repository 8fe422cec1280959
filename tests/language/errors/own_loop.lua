-- expect: 3: error: compute_at: a Func cannot be placed inside its own loop
-- expect+   name a loop of one of its consumers
return schedule "small" {
  apply = function(k, p, target)
    k.g:compute_at(k.g, "row")
  end,
}
