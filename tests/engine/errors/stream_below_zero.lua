-- expect: 3: error: stream: the argument "above" is -1, but must not be negative
return schedule "small" {
  apply = function(k, p, target)
    k.y:stream(-1)
  end,
}
