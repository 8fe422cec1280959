-- expect: 3: error: cluster: there is no such word for a Stage
-- expect+   it is called "split_k_cluster" now
return schedule "small" {
  apply = function(k, p, target)
    k.sum:update(0):cluster(2)
  end,
}
