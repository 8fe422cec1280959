-- expect: 3: error: stream: the argument "above" is -1, but must be from 0 to 1125899906842624
-- expect+   usage: stream(above?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:stream(-1)
  end,
}
