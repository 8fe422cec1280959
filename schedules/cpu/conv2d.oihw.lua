-- Convolution with its epilogue for AVX2 and AVX-512, weights as torch.nn.Conv2d stores them: output channels
-- outermost. Every call turns them into f32 with the output channels innermost, then runs the register
-- tiles of conv2d.lua. The more pixels y has, the less packing costs of the whole; small images with many
-- channels want packed weights.

local conv = require "lib.conv"

return schedule "conv2d" {
  target = "cpu",

  generator = { weights = "oihw", skip_padding = true },

  params = {
    pixels = tune { 4, 6, default = 6 }, -- of the register tile, with 32 registers
    band   = tune { 4, 8, 16, default = 8 }, -- rows of the image a job
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local wide = target.vector_registers >= 32
    local columns = wide and 4 * lanes or 2 * lanes
    k.y:dim(0):set_min(0)
    conv.register_tiles(k.y, k.acc, {
      width = k.y:dim(2):extent(),
      lanes = lanes,
      panel = 4 * lanes,
      columns = columns,
      pixels = wide and p.pixels or 6,
      band = p.band,
    })
    k.weight_f:compute_root():align_bounds("o", columns):reorder("o", "s", "r", "c", "g")
      :vectorize("o", lanes):parallel("c", 16, "guard")
    local band = k:has "x_f" and k.x_f or k:has "x_pad" and k.x_pad
    if band then band:compute_at(k.y, "job"):vectorize("c", lanes, "guard") end
  end,
}
