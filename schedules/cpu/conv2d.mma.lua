-- Convolution of bf16 by AMX, weights packed into panels; where there is none, by vectors as in conv2d.lua, so that one library
-- serves both. A block of a row's pixels by a panel is a product over all of the window, a call whose sums stay in tiles; of an image
-- of up to 16 columns all rows are one block. Each job copies its band of x with the padding around it.
-- Weights limit it at 56 x 56: each block of 32 pixels reads 36 KiB of them from L2.

local conv = require "lib.conv"
local mma = require "lib.mma"

return schedule "conv2d" {
  target = "cpu",

  generator = {
    type = "bfloat16",
    weights = "packed",
    panel = tune { 32, 48, 64, default = 32 },
    skip_padding = false,
  },

  params = {
    block  = tune { 16, 32, default = 32 },      -- pixels of a row
    band   = tune { 2, 4, 8, 14, 28, default = 14 },  -- rows of the image a job
    panels = tune { 1, 2, 4, 8, default = 4 },   -- a job
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    local by_tiles = mma.has_tiles(target) or p.tiles == "always"
    conv.of_floats(k, { panel = p.panel, pixels = 0, channels = 0, block = p.block, band = p.band, panels = p.panels }, target, by_tiles)
  end,
}
