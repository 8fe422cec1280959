-- GroupNorm for any host SIMD width. A task is a group of an image: its channels are read for the mean, for
-- the variance and to be scaled, and stay in L2 between, so that only the first pass reads memory.
-- Sums run along a row of pixels; dense images with short rows are better given as w = pixels, h = 1.

local reduce = require "lib.reduce"

return schedule "group_norm" {
  target = "cpu",

  params = {
    accum = tune { 1, 2, 4, default = 4 }, -- vectors a step of the sums
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    local channels = k.x:dim(2):extent() // k.groups
    local group = k.y:split("c", channels, "guard", "group", "channel")
    k.y:reorder("w", "h", "channel", group, "n")
    local task = k.y:fuse(group, "n", "task")
    task:parallel()
    k.y:vectorize("w", 2 * lanes, "guard")
    k.y:stream()

    k.mean:compute_at(task)
    k.inv_std:compute_at(task)
    for _, sum in ipairs { k.sum, k.sum_sq } do
      reduce.in_lanes(sum, "pixel_x", { at = task, lanes = lanes, accum = p.accum })
    end
  end,
}
