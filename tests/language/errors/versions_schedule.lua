-- expect: 3: error: compute_root: stands in `versions`, which says when a version is taken, and schedules nothing
-- expect+   put it into `apply`
return schedule "small" {
  versions = function(k, p, target)
    k.f:compute_root()
    return { {} }
  end,
  apply = function(k, p, target) end,
}
