-- Convolution without fusion: the image with its padding, the sums, scale and bias (a BatchNorm), residual and
-- activation, and the result, each a kernel of its own. The sums themselves are computed as in conv2d.simt.lua, so the
-- difference between the two is what fusing the epilogue gains.

local conv = require "lib.gpu_conv"
local elementwise = require "lib.gpu_elementwise"
local gemm = require "lib.gemm"

return schedule "conv2d" {
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
    for _, image in ipairs { "x_pad", "x_f" } do
      if k:has(image) then pass(k[image]:compute_root(), "c") end
    end
    local sums = k.acc:in_():compute_root()
    conv.register_tiles(k, sums, { panel = p.panel, pixels = p.pixels, tiles = p.tiles, group = gemm.group(k.x:type()) })
    for _, step in ipairs { "linear", "activated" } do
      if k:has(step) then pass(k[step]:compute_root(), "o") end
    end
    pass(k.y, "o")
  end,
}
