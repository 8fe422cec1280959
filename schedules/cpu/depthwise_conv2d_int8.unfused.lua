-- Depthwise convolution in 8 bits without fusion: the image with its border, the sums of 32 bits, their value as f32, the
-- activation and the result, each its own pass through memory. The sums themselves are as fast as in
-- depthwise_conv2d_int8.lua.

local conv = require "lib.conv"
local rows = require "lib.rows"

return schedule "depthwise_conv2d_int8" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "i32"
    rows.materialise({ k.x_u }, { row = "h", inner = "c", lanes = lanes })
    conv.byte_windows(k, k.acc:in_():compute_root(), {
      width = k.y:dim(1):extent(), channels = k.y:dim(0):extent(), lanes = lanes, vectors = 2, pixels = 4, band = 4,
    })
    rows.materialise({ k.linear, k.activated }, { row = "h", inner = "c", lanes = lanes })
    k.y:parallel "h":vectorize("c", lanes, "guard")
  end,
}
