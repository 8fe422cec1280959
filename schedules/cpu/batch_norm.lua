-- BatchNorm for any host SIMD width: one pass over memory, with the scale and the shift of the channels
-- computed first. A task is a plane of a channel, or a row of pixels where channels are innermost.

return schedule "batch_norm" {
  target = "cpu",

  params = {
    unroll = tune { 1, 2, 4, default = 2 }, -- vectors a step
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local step = p.unroll * lanes

    k.channel_scale:compute_root():vectorize("c", lanes, "guard")
    k.channel_shift:compute_root():vectorize("c", lanes, "guard")
    local y, inner, task
    if k:has "y" then
      y, inner, task = k.y, "w", "c"
    else
      y, inner, task = k.y_nhwc, "c", "h"
    end
    y:vectorize(inner, step, "guard")
    y:fuse(task, "n", "task"):parallel()
    -- Not rows of pixels: where they are no whole vectors, plain stores and streamed ones meet in a line, which
    -- then goes to memory by pieces (56 x 56 x 256 x 8 in f32: 21 ms, without 2).
    if k:has "y_nhwc" then
      y:stream()
    end
  end,
}
