-- LayerNorm for any host SIMD width.
-- Two passes over a row for the statistics, a third to scale; the row stays in L1
-- between them, so only the first pass reads memory. Eight rows make a task.

local processor = require "lib.processor"
local reduce = require "lib.reduce"
local rows = require "lib.rows"

return schedule "layer_norm" {
  target = "cpu",

  generator = {
    statistics = tune { "two_pass", "one_pass", default = "two_pass" },
  },

  params = {
    rows  = tune { 1, 4, 8, 16, default = 8 }, -- rows a task; short rows want more
    accum = tune { 2, 4, 8, default = 4 },     -- independent sums, to hide FMA latency
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    local row = rows.tasks(k, k.y, {
      rows = p.rows, lanes = lanes, over_cols = { "residual_out" }, over_rows = { "row_scale", "block_scale" },
    })

    if k:has "added" then
      k.added:compute_at(row):vectorize("col", lanes, "guard")
    end
    if k:has "first" then k.first:compute_at(row) end
    k.mean:compute_at(row)
    k.inv_std:compute_at(row)
    for _, sum in ipairs { k.sum, k.sum_sq } do
      reduce.in_lanes(sum, "col", { at = row, lanes = lanes, accum = p.accum, cols = k.x:dim(0):extent() })
    end
    rows.own_scales(k, row, { lanes = lanes, accum = p.accum })
    if k:has "added" then
      -- With a residual, prefetches of the next row pay on AMD's processors, most in bf16. RMSNorm gains nothing by them.
      if not processor.is_intel(target) then
        k.sum:update(0):prefetch_over("col", k.x, row, 1, true)
        k.y:prefetch_over("col", k.residual, row, 1, true)
      end
    else
      if processor.is_intel(target) then
        -- In the last loop: prefetches in the loop of sum_sq are slower there, for rows in a cache and in memory.
        k.y:prefetch_over("col", k.x, row, 1, true)
      else
        k.sum_sq:update(0):prefetch_over("col", k.x, row)
      end
      k.sum_sq:update(0):prefetch_over("col", k.y, row, 0)
    end
  end,
}
