-- Softmax for any host SIMD width: three passes over a row that stays in cache.
-- The exponentials are stored as they are summed, in one loop, and scaled in place of
-- being computed twice. Scale and mask are applied on the way in, in registers.
-- An online softmax (one pass for maximum and sum) loses by 15 to 50 % as long as a row
-- fits L2: it computes more exponentials.

local processor = require "lib.processor"
local reduce = require "lib.reduce"

return schedule "softmax" {
  target = "cpu",

  params = {
    rows  = tune { 1, 4, 8, 16, default = 4 }, -- rows a task
    accum = tune { 2, 4, 8, default = 4 },     -- independent maxima and sums
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    local task, row = k.y:split("row", p.rows, "guard")
    task:parallel()
    k.y:vectorize("col", lanes, "guard")
    k.y:stream()

    if k:has "log_sum" then -- the exponentials are only summed
      k.log_sum:compute_at(row)
    else
      k.inv_sum:compute_at(row)
      k.weight:compute_at(row):vectorize("col", 2 * lanes, "guard") -- two chains of exp in flight
      -- While it computes, memory brings the next row, and the lines of the result. Zen 5: 16384 x 4096 from 24.7 ms
      -- to 16.6, 64 x 4096 from memory 98 us to 64. Intel's own prefetchers bring x from a cache (Emerald Rapids:
      -- 87 us, 92 with it, 105 without either; 16384 x 4096 46.4 ms without, 33.1 with).
      k.weight:prefetch_over("col", k.x, row, 1, processor.is_intel(target))
      k.weight:prefetch_over("col", k.y, row, 0)
      -- In the last loop, as the one above has two streams already: with a mask 16384 x 4096 from 26.9 ms to 21.5, bf16 22.5 to
      -- 18.9, 64 x 4096 from memory 115 us to 107, bf16 88 to 67. In weight's loop 25.2, 18.4; 119, 63 (Zen 5).
      if k:has "mask" then k.y:prefetch_over("col", k.mask, row, 1, processor.is_intel(target)) end
    end
    for _, reduction in ipairs { k.row_max, k.row_sum } do
      reduce.in_lanes(reduction, "col", { at = row, lanes = lanes, accum = p.accum, cols = k.x:dim(0):extent() })
    end
  end,
}
