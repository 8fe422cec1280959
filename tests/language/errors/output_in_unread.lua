-- expect: 3: error: in_: has no effect on y, which nothing reads
-- expect+   stage what y reads
return schedule "small" {
  apply = function(k, p, target)
    k.y:in_()
  end,
}
