-- Depthwise convolution in 8 bits without fusion: the image with its border, the sums of 32 bits, their value as f32, the
-- activation and the result, each a kernel of its own.

local depthwise = require "lib.gpu_depthwise"
local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"

return schedule "depthwise_conv2d_int8" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
    pixels  = tune { 1, 2, 4, default = 4 },
    rows    = tune { 1, 2, 4, default = 1 },
  },

  apply = function(k, p)
    local o = { col = "c", rows = { "w", "h", "n" }, threads = p.threads, unroll = p.unroll }
    elementwise.vectors(k.x_u:compute_root(), o)
    depthwise.sums_of_channels(k, p.threads)
    local sums = k.acc:in_():compute_root()
    depthwise.register_tiles(k, sums, {
      vector = grid.vector_of(sums), threads = p.threads, pixels = p.pixels, rows = p.rows,
      column = "tap_y", row = "tap_z",
    })
    k.acc:update(0):unroll "tap_x"
    elementwise.vectors(k.linear:compute_root(), o)
    elementwise.vectors(k.activated:compute_root(), o)
    elementwise.vectors(k.y, o)
  end,
}
