-- Direct convolution in 8 bits without tensor cores, weights packed into panels of output channels: the tiles of
-- conv2d.simt.lua with sums of 32 bits. x is read as it lies in memory; where it is signed, a thread flips the sign bit
-- as it reads.

local conv = require "lib.gpu_conv"

return schedule "conv2d_int8" {
  target = "cuda",

  generator = { weights = "packed", panel = 64 },

  params = {
    pixels = tune { 1, 2, 4, 8, default = 4 },    -- of the register tile, along a row
    tiles  = tune { 4, 8, 16, 32, default = 16 }, -- of pixels in a block
  },

  apply = function(k, p)
    conv.register_tiles(k, k.y, { panel = p.panel, pixels = p.pixels, tiles = p.tiles, group = 4 })
    k.y:stream()
  end,
}
