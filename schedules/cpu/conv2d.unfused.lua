-- Convolution without fusion: the sums go to memory, then one pass for scale and bias (a BatchNorm), one
-- for residual and activation, and one that stores. The sums themselves are as fast as in conv2d.lua, so
-- the difference between the two is what fusing the epilogue gains.

local conv = require "lib.conv"
local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "conv2d" {
  target = "cpu",

  generator = { weights = "packed", panel = 32, skip_padding = true },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local wide = target.vector_registers >= 32
    k.y:dim(0):set_min(0)
    local sums = k.acc:in_():compute_root()
    conv.register_tiles(sums, k.acc, {
      width = k.y:dim(2):extent(),
      lanes = lanes,
      panel = p.panel,
      columns = wide and p.panel or 2 * lanes,
      pixels = conv.pixels(target, p.panel),
      band = 8,
      group = gemm.group(k.x:type()),
    })
    for _, image in ipairs { "x_pad", "x_f" } do
      if k:has(image) then rows.materialise({ k[image] }, { row = "h", inner = "c", lanes = lanes }) end
    end
    for _, step in ipairs { "linear", "activated" } do
      if k:has(step) then rows.materialise({ k[step] }, { row = "h", inner = "o", lanes = lanes }) end
    end
    k.y:parallel "h":vectorize("o", lanes, "guard")
  end,
}
