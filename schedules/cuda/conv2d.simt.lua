-- Direct convolution without tensor cores, for any type, weights packed into panels of output channels: a thread sums a tile of
-- pixels by 8 channels in registers. Neighbouring threads have a panel's channels, so a warp reads weights in whole lines and
-- an element of x once for all of them; what is read again comes from L1. No shared memory, no barriers.

local conv = require "lib.gpu_conv"
local gemm = require "lib.gemm"

return schedule "conv2d" {
  target = "cuda",

  generator = { weights = "packed", panel = 64 },

  params = {
    pixels = tune { 1, 2, 4, 8, default = 4 },    -- of the register tile, along a row
    tiles  = tune { 4, 8, 16, 32, default = 16 }, -- of pixels in a block
  },

  apply = function(k, p)
    conv.register_tiles(k, k.y, { panel = p.panel, pixels = p.pixels, tiles = p.tiles, group = gemm.group(k.x:type()) })
    k.y:stream()
  end,
}
