-- expect: 3: error: gpu_blocks: takes one to three loops, innermost first
return schedule "small" {
  apply = function(k, p, target)
    k.y:gpu_blocks { "col", "row", "col", "row" }
  end,
}
