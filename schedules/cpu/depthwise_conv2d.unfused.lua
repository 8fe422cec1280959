-- Depthwise convolution without fusion: the image with its padding, the sums, scale and bias (a BatchNorm),
-- residual and activation, and the result, each its own pass through memory.

local rows = require "lib.rows"

return schedule "depthwise_conv2d" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    for _, step in ipairs { "x_f", "acc", "linear", "activated" } do
      if k:has(step) then rows.materialise({ k[step] }, { row = "h", inner = "c", lanes = lanes }) end
    end
    k.acc:update(0):reorder("tap_x", "tap_y", "c", "w", "h", "n"):parallel "h":vectorize("c", lanes, "guard")
      :unroll "tap_x":unroll "tap_y"
    k.y:parallel "h":vectorize("c", lanes, "guard")
  end,
}
