-- expect: 3: error: dim: the argument "index" must be an integer, not a string
-- expect+   usage: dim(index)
return schedule "small" {
  apply = function(k, p, target)
    k.x:dim("col")
  end,
}
