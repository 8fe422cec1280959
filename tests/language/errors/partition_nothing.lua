-- expect: 2: error: partition: asks for a middle without guards of a loop that has none: no turns of it can do without what the others ask
-- expect+   leave it out, or name the loop whose last turns are guarded
return schedule "small" {
  apply = function(k, p, target) k.y:partition("col", "always") end,
}
