-- More lanes than the reduction has turns have sums of their own.
return schedule "rms_norm" {
  target = "cuda",
  apply = function(k, p, target)
    k.y:split("col", 64, "guard", "chunk", "thread")
    k.y:reorder("chunk","thread","row"):gpu_blocks "row"
    k.y:gpu_threads "thread"
    k.inv_rms:compute_at(k.y,"row"):store_in "register"
    local s = k.sum_sq
    s:compute_at(k.y,"row"):store_in "register"
    local u = s:update(0)
    u:split("col", 48, "guard", "chunk", "lane")
    local part = u:rfactor("lane", {"ln"})
    part:compute_at(k.y,"row"):store_in "register"
    part:gpu_threads "ln"
    part:update(0):reorder("chunk","ln"):gpu_threads "ln"
    part:align_bounds("ln",64)
  end,
}
