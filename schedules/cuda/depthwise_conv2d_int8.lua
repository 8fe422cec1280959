-- Depthwise convolution in 8 bits: the tiles of depthwise_conv2d.lua with sums of 32 bits. What the zero point makes of a
-- channel is computed first, by a small kernel.

local depthwise = require "lib.gpu_depthwise"
local grid = require "lib.gpu_grid"

return schedule "depthwise_conv2d_int8" {
  target = "cuda",

  params = {
    threads = tune { 64, 128, 256, default = 128 },
    pixels  = tune { 1, 2, 4, default = 4 }, -- of a tile, along a row
    rows    = tune { 1, 2, 4, default = 1 }, -- of a tile
  },

  apply = function(k, p)
    depthwise.sums_of_channels(k, p.threads)
    depthwise.register_tiles(k, k.y, {
      vector = grid.vector_of(k.y), threads = p.threads, pixels = p.pixels, rows = p.rows,
      column = "tap_y", row = "tap_z",
    })
    k.acc:update(0):unroll "tap_x"
    k.y:stream()
  end,
}
