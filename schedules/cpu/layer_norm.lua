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

    local row = rows.tasks(k, k.y, { rows = p.rows, lanes = lanes, over_cols = { "residual_out" } })

    if k:has "added" then
      k.added:compute_at(row):vectorize("col", lanes, "guard")
    end
    k.mean:compute_at(row)
    k.inv_std:compute_at(row)
    for _, sum in ipairs { k.sum, k.sum_sq } do
      reduce.in_lanes(sum, "col", { at = row, lanes = lanes, accum = p.accum, cols = k.x:dim(0):extent() })
    end
    if k:has "added" then
      if not processor.is_intel(target) then -- Zen 5: 16384 x 4096 in bf16 25.3 ms to 22.5, f32 34.2 to 33.6; RMSNorm gains nothing
        k.sum:update(0):prefetch_over("col", k.x, row, 1, true)
        k.y:prefetch_over("col", k.residual, row, 1, true)
      end
    else
      if processor.is_intel(target) then
        -- Emerald Rapids: 64 x 4096 in the cache 68 us, with x in sum_sq's loop 81; 16384 x 4096 31 ms and 35.5
        k.y:prefetch_over("col", k.x, row, 1, true)
      else -- Zen 5: 16384 x 4096 from 17.1 ms to 13.7, 64 x 4096 from memory 81 us to 68
        k.sum_sq:update(0):prefetch_over("col", k.x, row)
      end
      k.sum_sq:update(0):prefetch_over("col", k.y, row, 0)
    end
  end,
}
