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
    y:stream()
  end,
}
