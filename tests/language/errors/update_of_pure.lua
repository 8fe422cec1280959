-- expect: 3: error: update: f has no updates
return schedule "small" {
  apply = function(k, p, target)
    k.f:update()
  end,
}
