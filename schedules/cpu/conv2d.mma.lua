-- Convolution of bf16 by AMX, weights packed into panels; where there is none, by vectors as in conv2d.lua, so that one library
-- serves both. A block of a row's pixels by a panel is a product over all of the window, a call whose sums stay in tiles. Each
-- job copies its band of x with the padding around it.
-- Microseconds of one thread on a Granite Rapids, 3x3 with bias and ReLU, of 56 x 56 x 64, 28 x 28 x 128 and 7 x 7 x 512:
--   panels of 32   190  192  489     of 64    203  196  465
--   vectors        1760 1947 1466    oneDNN   171  161  362
-- Rows of 7 pixels fill half of a tile, and each row reads all weights.

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
    band   = tune { 2, 4, 8, 16, default = 8 },  -- rows of the image a job
    panels = tune { 1, 2, 4, 8, default = 4 },   -- a job
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    local by_tiles = mma.has_tiles(target) or p.tiles == "always"
    conv.of_floats(k, { panel = p.panel, pixels = 0, channels = 0, block = p.block, band = p.band, panels = p.panels }, target, by_tiles)
  end,
}
