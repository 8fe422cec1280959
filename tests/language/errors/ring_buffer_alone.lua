-- expect: 3: error: ring_buffer: g has its memory where it is stored, so there is nothing to take buffers of in turn
-- expect+   say k.g:hoist_storage(...) of a loop further out, over whose turns the buffers follow each other
return schedule "small" {
  apply = function(k, p, target)
    k.g:compute_root():ring_buffer(2)
  end,
}
