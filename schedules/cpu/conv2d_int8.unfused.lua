-- Convolution in 8 bits without fusion: the image with its border, the sums of 32 bits, their value as f32,
-- the activation and the result, each its own pass through memory. The sums themselves are as fast as in
-- conv2d_int8.lua.

local conv = require "lib.conv"
local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "conv2d_int8" {
  target = "cpu",

  generator = { weights = "packed", panel = 32, skip_padding = true },

  apply = function(k, p, target)
    local lanes = target:lanes "i32"
    local wide = target.vector_registers >= 32
    k.y:dim(0):set_min(0)
    local sums = k.acc:in_():compute_root()
    conv.register_tiles(sums, k.acc, {
      width = k.y:dim(2):extent(),
      lanes = lanes,
      panel = p.panel,
      columns = wide and p.panel or 2 * lanes,
      pixels = wide and 14 or 6,
      band = 8,
      group = 4,
      dot = gemm.has_dot(target, "u8"),
    })
    if k:has "x_u" then rows.materialise({ k.x_u }, { row = "h", inner = "c", lanes = lanes }) end
    rows.materialise({ k.linear, k.activated }, { row = "h", inner = "o", lanes = lanes })
    k.y:parallel "h":vectorize("o", lanes, "guard")
  end,
}
