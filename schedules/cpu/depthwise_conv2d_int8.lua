-- Depthwise convolution in 8 bits: channels in the SIMD lanes, the sums of a tile of pixels in registers. Bytes of neighbouring
-- rows are laid side by side in registers, four rows where the target has VNNI, so that one instruction takes a column of a
-- 3x3 for 16 channels; elsewhere two rows, as 16 bits, since four are slower there. A column is laid out once for all windows of the
-- tile that it lies in. Rounding to 8 bits takes almost as long as the sums.

local conv = require "lib.conv"

return schedule "depthwise_conv2d_int8" {
  target = "cpu",

  params = {
    vectors = tune { 1, 2, 4, default = 2 },         -- of channels of a tile
    pixels  = tune { 1, 2, 4, 7, 8, default = 4 },   -- of a tile, along a row
    band    = tune { 1, 2, 4, 8, 16, default = 4 },  -- rows a task
  },

  apply = function(k, p, target)
    local y, lanes = k.y, target:lanes "i32"
    conv.byte_windows(k, y, {
      width = y:dim(1):extent(), channels = y:dim(0):extent(), lanes = lanes, vectors = p.vectors, pixels = p.pixels,
      band = p.band,
    })
    k.sum_scale:compute_at(y, "job"):vectorize("c", lanes, "guard")
  end,
}
