-- expect: 3: error: stream: is for what the pipeline writes for others, and f is read again by it
-- expect+   stream an output
return schedule "small" {
  apply = function(k, p, target)
    k.f:compute_root():stream()
  end,
}
