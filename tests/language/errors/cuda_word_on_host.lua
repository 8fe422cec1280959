-- expect: 3: error: fetch: is for CUDA, and has no effect on the host
-- expect+   leave it out, or ask `if target:has "cuda" then`
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():fetch()
  end,
}
