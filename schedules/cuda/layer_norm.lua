-- LayerNorm with a block a row, or several short ones, read from memory once and twice more from L1.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local rows = require "lib.gpu_rows"

return schedule "layer_norm" {
  target = "cuda",

  generator = {
    statistics = tune { "two_pass", "one_pass", default = "two_pass" },
  },

  params = rows.params,
  where = rows.params_fit,

  versions = function(k, p, target)
    local sums, scales = k:has "residual_out", k:has "inv_scale"
    return rows.versions(k.x, k.y, p, target, { sums = sums, scales = scales, a_row_each = sums or scales })
  end,

  apply = function(k, p)
    local o = rows.options(k.y, p)
    -- 40 registers, for 6 blocks of 256 threads; with 44 there are 5.
    if p.resident == 0 and p.held == "registers" and p.unroll * p.vector <= 16 and not k:has "residual_out" then
      o.resident = math.min(1536 // (p.threads * p.block_rows), 16)
    end
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
    if k:has "first" then
      grid.each_thread(k.first:bound_extent("row", 1), o)
      rows.own_scales(k, o, { k.sum, k.mean, k.sum_sq, k.inv_std })
    end
    reduce.in_block(k.sum, "col", o)
    reduce.in_block(k.sum_sq, "col", o)
    grid.each_thread(k.mean, o)
    grid.each_thread(k.inv_std, o)
  end,
}
