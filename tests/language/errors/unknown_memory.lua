-- expect: 3: error: store_in: "stak" is no memory; there are "auto", "heap", "stack", "register", "gpu_shared", "gpu_texture", "locked_cache", "vtcm", "amx_tile"
-- expect+   did you mean "stack"?
return schedule "small" {
  apply = function(k, p, target)
    k.f:store_in "stak"
  end,
}
