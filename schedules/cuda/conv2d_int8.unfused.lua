-- Convolution in 8 bits without fusion: the image with its border, the sums of 32 bits, their value as f32, the
-- activation and the result, each a kernel of its own. The sums themselves are computed as in conv2d_int8.dp4a.lua.

local conv = require "lib.gpu_conv"
local elementwise = require "lib.gpu_elementwise"

return schedule "conv2d_int8" {
  target = "cuda",

  generator = { weights = "packed", panel = 64 },

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
    pixels  = tune { 1, 2, 4, 8, default = 4 },
    tiles   = tune { 4, 8, 16, 32, default = 16 },
  },

  apply = function(k, p)
    local function pass(func, channel)
      elementwise.vectors(func, { col = channel, rows = { "g", "w", "h", "n" }, threads = p.threads, unroll = p.unroll })
    end
    if k:has "x_u" then pass(k.x_u:compute_root(), "c") end
    local sums = k.acc:in_():compute_root()
    conv.register_tiles(k, sums, { panel = p.panel, pixels = p.pixels, tiles = p.tiles, group = 4 })
    pass(k.linear:compute_root(), "o")
    pass(k.activated:compute_root(), "o")
    pass(k.y, "o")
  end,
}
