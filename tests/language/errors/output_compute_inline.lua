-- expect: 3: error: compute_inline: has no effect on y, an output: it is computed at the root, into the memory of the caller
-- expect+   say it of what y reads, or change the loops of y
return schedule "small" {
  apply = function(k, p, target)
    k.y:compute_inline()
  end,
}
