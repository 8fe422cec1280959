-- expect: 3: error: in_: has no effect: y does not read x
-- expect+   name a Func that reads x
return schedule "small" {
  apply = function(k, p, target)
    k.x:in_(k.y)
  end,
}
