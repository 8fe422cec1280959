-- expect: 3: error: rename: "__block_id_x" cannot name a loop: Halide calls a variable so
-- expect+   usage: rename(loop, name)
return schedule "small" {
  apply = function(k, p, target)
    k.y:rename("row", "__block_id_x")
  end,
}
