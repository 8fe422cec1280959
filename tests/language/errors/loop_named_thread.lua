-- expect: 3: error: rename: "thread_id_y" cannot name a loop: Halide calls a variable so
-- expect+   usage: rename(loop, name)
return schedule "small" {
  apply = function(k, p, target)
    k.y:rename("col", "thread_id_y")
  end,
}
