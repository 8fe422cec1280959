-- expect: 3: error: frobnicate: there is no such word for a Func
-- expect+   the words of a Func are "split", "fuse", "tile", "vectorize", "unroll", "parallel", "serial", "rename", "reorder", "compute_with", "rfactor", "specialize", "specialize_fail", "update", "reduction", "has_condition", "atomic", "prefetch", "partition", "never_partition", "never_partition_all", "always_partition", "unscheduled", "always_partition_all", "compute_at", "compute_root", "compute_inline", "store_at", "store_root", "hoist_storage", "hoist_storage_root", "in_", "clone_in", "copy_to_device", "copy_to_host", "async", "ring_buffer", "memoize", "store_in", "align_storage", "bound_storage", "fold_storage", "reorder_storage", "stream", "prefetch_over", "prefetch_ahead", "side_by_side", "mma", "pipeline", "split_k_cluster", "split_k_warps", "fetch", "resident", "prefetch_at_launch", "autoschedule", "bound", "bound_extent", "align_bounds", "align_extent", "set_estimate", "set_estimates", "gpu_blocks", "gpu_threads", "gpu_lanes", "gpu_single_thread", "gpu", "gpu_tile", "hexagon", "trace_loads", "trace_stores", "trace_realizations", "add_trace_tag", "no_profiling", "dim", "type", "set_host_alignment"
return schedule "small" {
  apply = function(k, p, target)
    k.y:frobnicate("col", 8)
  end,
}
