-- expect: 6: error: gpu_single_thread: runs loops of x_in_f on a device, and the target x86-64-linux-avx2-fma-no_runtime has none
-- expect+   build for a device, with --target cuda, or leave this out
return schedule "small" {
  apply = function(k)
    k.f:compute_root()
    local copy = k.x:in_(k.f)
    copy:compute_at(k.f, "col")
    copy:gpu_single_thread("cuda")
  end,
}
