-- RMSNorm with a block a row. The row is read twice, the second time from L1, so that rows of any length will do and
-- many blocks are on a multiprocessor to hide the latency of memory.

local gpu = require "lib.gpu"

return schedule "rms_norm" {
  target = "cuda",

  params = gpu.row_params,
  where = gpu.row_params_fit,

  versions = function(k, p) return gpu.row_versions(k.x, p, k:has "residual_out") end,

  apply = function(k, p)
    local o = gpu.row_options(k.y, p)
    gpu.row_blocks(k.y, o)
    k.y:stream()
    if not k:has "residual_out" then
      gpu.hold_rows(k.x, o)
    else
      if p.held == "shared" then gpu.rows_in_shared(k.added, "col", "row", o) end
      gpu.row_blocks(k.residual_out, o)
      k.residual_out:compute_with(k.y, o.at[2])
      k.residual_out:stream()
    end
    if k:has "row_scale" then
      gpu.blocks_of_rows(k.row_scale, {}, o)
      k.row_scale:compute_with(k.y, o.at[2])
      gpu.each_thread(k.inv_scale, o)
      gpu.reduce(k.peak, "col", o)
    end
    gpu.reduce(k.sum_sq, "col", o)
    gpu.each_thread(k.inv_rms, o)
  end,
}
