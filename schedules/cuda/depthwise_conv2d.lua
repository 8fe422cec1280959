-- Depthwise convolution: a thread has a vector of channels, 16 bytes of them, and sums a tile of pixels in registers,
-- so that an element of x is loaded once for all windows of the tile that it lies in. Neighbouring threads have
-- neighbouring channels, then neighbouring tiles; what tiles share comes from L1. 32 channels take 4 lanes (H200, 64x112x112x32:
-- 109 us, 188 with half of them idle). A thread has 227 registers; for 4 blocks on a multiprocessor it spills (314 us), and
-- tiles of 2 rows have no fewer (132 us). 64x28x28x512 with 4, 8, 16, 32 lanes: 375, 203, 110, 112 us, since rows of 7 tiles
-- leave threads of a block idle.

local gpu = require "lib.gpu"

return schedule "depthwise_conv2d" {
  target = "cuda",

  params = {
    threads = tune { 64, 128, 256, default = 128 },
    lanes   = tune { 4, 8, 16, 32, default = 16 }, -- threads side by side along the channels
    pixels  = tune { 1, 2, 4, default = 4 }, -- of a tile, along a row
    rows    = tune { 1, 2, 4, default = 1 }, -- of a tile
  },

  apply = function(k, p)
    gpu.window_tiles(k, k.y, {
      vector = gpu.vector_of(k.y), lanes = p.lanes, narrow = 4, threads = p.threads, pixels = p.pixels, rows = p.rows,
    })
    k.y:stream()
  end,
}
