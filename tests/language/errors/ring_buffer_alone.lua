-- expect: 3: error: ring_buffer: Func "g" is scheduled with ring_buffer(), but has matching store_at and hoist_storage levels. Add an explicit hoist_storage directive to the schedule to fix the issue.
return schedule "small" {
  apply = function(k, p, target)
    k.g:compute_root():ring_buffer(2)
  end,
}
