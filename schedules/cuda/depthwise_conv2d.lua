-- Depthwise convolution: a thread has a vector of channels, 16 bytes of them, and sums a tile of pixels in registers.
-- Neighbouring threads have neighbouring channels, then neighbouring tiles; what windows of a tile share stays in registers, what
-- tiles share comes from L1.

local depthwise = require "lib.gpu_depthwise"
local grid = require "lib.gpu_grid"

return schedule "depthwise_conv2d" {
  target = "cuda",

  params = {
    threads = tune { 64, 128, 256, default = 128 },
    pixels  = tune { 1, 2, 4, default = 4 }, -- of a tile, along a row
    rows    = tune { 1, 2, 4, default = 1 }, -- of a tile
  },

  apply = function(k, p)
    depthwise.register_tiles(k, k.y, {
      vector = grid.vector_of(k.y), threads = p.threads, pixels = p.pixels, rows = p.rows,
    })
    k.y:stream()
  end,
}
