-- expect: 3: error: partition: "maybe" is no partition; there are "auto", "never", "always"
-- expect+   usage: partition(loop, policy)
return schedule "small" {
  apply = function(k, p, target)
    k.y:partition("col", "maybe")
  end,
}
