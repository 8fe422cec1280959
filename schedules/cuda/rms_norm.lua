-- RMSNorm with a block a row, or several short ones. The row is read twice, the second time from L1, so that rows of any length will
-- do and many blocks are on a multiprocessor to hide the latency of memory.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local rows = require "lib.gpu_rows"

return schedule "rms_norm" {
  target = "cuda",

  params = rows.params,
  where = rows.params_fit,

  versions = function(k, p, target)
    local sums, scales = k:has "residual_out", k:has "inv_scale"
    return rows.versions(k.x, k.y, p, target, { sums = sums, scales = scales, a_row_each = sums or scales })
  end,

  apply = function(k, p)
    local o = rows.options(k.y, p)
    rows.blocks(k.y, o)
    k.y:stream()
    if not k:has "residual_out" then
      rows.hold(k.x, o)
    else
      if p.held == "shared" then rows.in_shared(k.added, "col", "row", o) end
      rows.blocks(k.residual_out, o)
      k.residual_out:compute_with(k.y, o.at[2])
      k.residual_out:stream()
    end
    rows.own_scales(k, o)
    reduce.in_block(k.sum_sq, "col", o)
    grid.each_thread(k.inv_rms, o)
  end,
}
