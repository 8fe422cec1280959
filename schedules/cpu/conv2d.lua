-- Convolution with its epilogue for AVX2 and AVX-512, weights packed into panels of output channels.
-- A register tile of pixels x channels runs over the window and all input channels; the panel of weights
-- stays in L2 while the band goes by. Each job first copies its band of x with the padding around
-- it (f16 and bf16: as f32), so that no loop asks where the border is. bf16 is multiplied in pairs where the target can.
-- Zeros of the padding are left out, which saves the most in small images: a 3x3 over 7x7 pixels has (19/21)^2 = 0.82 of its products left.
-- Builds take longer for it, as columns at a border have loops of their own.
-- Images of 3 channels want channels=3, groups of few channels conv2d.grouped.lua.

local conv = require "lib.conv"
local gemm = require "lib.gemm"

return schedule "conv2d" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 32 },
    skip_padding = tune { true, false, default = true },
  },

  params = {
    pixels = tune { 0, 4, 6, 7, 8, 14, default = 0 },  -- of the register tile, with 32 registers; 0: what suits the panel
    band   = tune { 2, 4, 8, 16, default = 8 },        -- rows of the image a job
    channels = tune { 0, 1, 3, 4, default = 0 },       -- of x: few are unrolled with the columns of the window
  },

  where = function(p, target)
    return gemm.tile_fits({ rows = p.pixels, panel = p.panel }, target)
  end,

  apply = conv.of_floats,
}
