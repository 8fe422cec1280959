-- expect: 5: error: fuse: joins "col_inner" and "col_outer", of which the device runs one in another way than the other
-- expect+   fuse loops before saying which are blocks and which threads
return schedule "small" {
  apply = function(k, p, target)
    local block, thread = k.y:split("col", 8, "guard")
    k.y:gpu_blocks(block):gpu_threads(thread)
    k.y:fuse(thread, block)
  end,
}
