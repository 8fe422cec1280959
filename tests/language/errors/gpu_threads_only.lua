-- expect: 3: error: gpu_threads: Schedule for Func y requires <Default_GPU> but no compatible target feature is enabled in target x86-64-linux-avx2-fma-no_runtime
return schedule "small" {
  apply = function(k, p, target)
    k.y:gpu_threads("col")
  end,
}
