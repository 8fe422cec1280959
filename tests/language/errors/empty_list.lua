-- expect: 3: error: gpu_blocks: the list "loops" is empty
-- expect+   usage: gpu_blocks(loops, device?)
return schedule "small" {
  apply = function(k, p, target)
    k.y:gpu_blocks {}
  end,
}
