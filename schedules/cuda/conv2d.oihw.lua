-- Direct convolution, weights as torch.nn.Conv2d stores them: a kernel turns them into f32 with the output channels
-- innermost, then the tiles of conv2d.simt.lua read them as they read packed ones.

local conv = require "lib.gpu_conv"
local elementwise = require "lib.gpu_elementwise"

return schedule "conv2d" {
  target = "cuda",

  generator = { weights = "oihw" },

  params = {
    pixels   = tune { 1, 2, 4, 8, default = 4 },    -- of the register tile, along a row
    tiles    = tune { 4, 8, 16, 32, default = 16 }, -- of pixels in a block
    channels = tune { 32, 64, 128, default = 64 }, -- of y, in a block
  },

  apply = function(k, p)
    k.weight_f:compute_root():align_bounds("o", p.channels)
    elementwise.vectors(k.weight_f, { col = "o", rows = { "c", "s", "r", "g" }, threads = 128, unroll = 1 })
    conv.register_tiles(k, k.y, { panel = p.channels, pixels = p.pixels, tiles = p.tiles, group = 1 })
    k.y:stream()
  end,
}
