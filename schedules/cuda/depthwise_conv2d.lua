-- Depthwise convolution: a thread has a vector of channels, 16 bytes of them, and sums a tile of pixels in registers.
-- Neighbouring threads have neighbouring channels, then neighbouring tiles; what windows and tiles share comes from L1.
-- 32 channels take 4 lanes. H200, 64x28x28x512 with 8, 16, 32 lanes: 89, 75, 71 us, with tiles of 2 rows 100, of 2 pixels
-- 88; 64x112x112x32 70 us, 2 rows 101.

local gpu = require "lib.gpu"

return schedule "depthwise_conv2d" {
  target = "cuda",

  params = {
    threads = tune { 64, 128, 224, 256, 448, 512, default = 128 },
    lanes   = tune { 4, 8, 16, 32, default = 32 }, -- threads side by side along the channels
    held = tune { true, false, default = true },
    strips  = tune { 1, 2, 4, 7, 8, default = 1 }, -- threads along the rows of tiles
    pixels  = tune { 1, 2, 4, 7, 8, default = 4 }, -- of a tile, along a row
    rows    = tune { 1, 2, 4, default = 1 }, -- of a tile
  },

  apply = function(k, p)
    gpu.window_tiles(k, k.y, {
      vector = gpu.vector_of(k.y), lanes = p.lanes, narrow = 4, threads = p.threads, pixels = p.pixels, rows = p.rows,
      strips = p.strips, rows_held = p.held,
    })
    k.y:stream()
  end,
}
