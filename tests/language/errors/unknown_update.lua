-- expect: 3: error: update: sum has no update 1; it has 1, counted from 0
return schedule "small" {
  apply = function(k, p, target)
    k.sum:update(1)
  end,
}
