-- Convolution in 8 bits by AMX, weights packed into panels; where there is none, by vectors as in conv2d_int8.lua: see conv2d.mma.

local conv = require "lib.conv"
local mma = require "lib.mma"

return schedule "conv2d_int8" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 32 },
    skip_padding = false,
  },

  params = {
    block  = tune { 16, 32, default = 32 },         -- pixels of a row
    pixels = tune { 4, 6, 7, 8, default = 7 },      -- of a register tile, where there are none
    band   = tune { 2, 4, 8, 14, 28, default = 14 },  -- rows of the image a job
    panels = tune { 1, 2, 4, 8, default = 4 },      -- a job
    copy   = tune { 8, 16, 32, 64, default = 32 },  -- channels copied at once
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    conv.of_bytes(k, p, target, mma.has_tiles(target) or p.tiles == "always")
  end,
}
