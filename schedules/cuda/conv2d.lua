-- Convolution on the tensor cores, weights as torch.nn.Conv2d stores them in channels_last: a block keeps the sums of a box of
-- pixels in registers. For each element of the kernel and 64 channels the box, moved by that element, is fetched like a
-- tile of a matrix, with zeros outside of the image; scale, bias, activation and residual are applied to the sums.

local gpu = require "lib.gpu"

return schedule "conv2d" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "ohwi",
  },

  params = {
    -- A box of 64, 128 or 192 pixels: what sticks out of images and batch is computed in vain.
    tile_w  = tune { 1, 2, 4, 8, 16, default = 8 },
    tile_h  = tune { 1, 2, 4, 8, 16, default = 8 },
    tile_n  = tune { 1, 2, 3, 4, 6, 8, 12, 16, 32, 48, default = 2 },
    columns = tune { 64, 128, 256, default = 64 }, -- channels of y
    stages  = tune { 2, 3, 4, 5, 6, default = 4 },      -- fetched ahead; a stage takes 128 (pixels + columns) bytes
    group   = tune { 1, 4, 8, 16, default = 4 },        -- boxes taken together
  },

  where = function(p)
    local pixels = p.tile_w * p.tile_h * p.tile_n
    -- Shared memory: the stages, and the tile on its way out.
    return pixels % 64 == 0 and pixels <= 192 and pixels * p.columns <= 128 * 256
      and p.stages * 128 * (pixels + p.columns) + 2 * pixels * p.columns < 225 * 1024
  end,

  apply = function(k, p)
    gpu.tensor_windows(k.y, k.acc, p)
  end,
}
