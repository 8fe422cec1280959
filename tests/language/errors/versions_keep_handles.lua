-- expect: 8: error: parallel: is given a Func of another version
-- expect+   take it from the k of this call of apply
local kept
return schedule "small" {
  versions = function(k, p, target)
    kept = k.y
    return { {} }
  end,
  apply = function(k, p, target)
    kept:parallel("row")
  end,
}
