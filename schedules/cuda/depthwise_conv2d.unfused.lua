-- Depthwise convolution without fusion: the image with its padding, the sums, scale and bias (a BatchNorm), residual
-- and activation, and the result, each a kernel of its own.

local depthwise = require "lib.gpu_depthwise"
local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"

return schedule "depthwise_conv2d" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
    pixels  = tune { 1, 2, 4, default = 4 },
    rows    = tune { 1, 2, 4, default = 1 },
  },

  apply = function(k, p)
    local o = { col = "c", rows = { "w", "h", "n" }, threads = p.threads, unroll = p.unroll }
    elementwise.vectors(k.x_f:compute_root(), o)
    local sums = k.acc:in_():compute_root()
    depthwise.register_tiles(k, sums, {
      vector = grid.vector_of(sums), threads = p.threads, pixels = p.pixels, rows = p.rows,
    })
    for _, step in ipairs { "linear", "activated" } do
      if k:has(step) then elementwise.vectors(k[step]:compute_root(), o) end
    end
    elementwise.vectors(k.y, o)
  end,
}
