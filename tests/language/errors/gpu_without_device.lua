-- expect: 3: error: gpu_tile: runs loops of y on a device, and the target x86-64-linux-avx2-fma-no_runtime has none
-- expect+   build for a device, with --target cuda, or leave this out
return schedule "small" {
  apply = function(k, p, target)
    k.y:gpu_tile({ "col", "row" }, { 8, 8 })
  end,
}
