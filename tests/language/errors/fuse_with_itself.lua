-- expect: 3: error: fuse: names the loop "col" twice
-- expect+   usage: fuse(inner, outer, name?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:fuse("col", "col")
  end,
}
