-- Convolution in groups of few channels: the SIMD lanes hold the output channels of several groups. A vector of x
-- is those groups' inputs at a pixel, loaded once for the columns of the window; one shuffle spreads a channel of
-- each group over the lanes of the group. How many channels a group has are constants: panel (outputs) and channels.
-- 4 to 4 channels, 3x3, 56 x 56 x 32 groups: 78 % of the f32 peak, 5 % with the panels of conv2d.lua (Zen 4).

local gemm = require "lib.gemm"

return schedule "conv2d" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 4, 8, 16, default = 4 }, -- channels of y in a group
  },

  params = {
    channels = tune { 1, 2, 4, 8, 16, default = 4 }, -- of x in a group
    pixels   = tune { 4, 7, 8, 14, default = 7 },    -- of the register tile, with 32 registers
    band     = tune { 4, 8, 16, default = 8 },       -- rows of the image a job
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local groups = math.max(lanes // p.panel, 1)
    local pixels = target.vector_registers >= 32 and p.pixels or 4
    local y = k.y
    y:dim(0):set_bounds(0, p.panel)
    y:bound("o", 0, p.panel)
    k.x:dim(0):set_extent(p.channels)

    local function tile(stage, groups_of_tile, pixels_of_tile)
      local function tail(size) return size > 1 and "shift_inwards" or "auto" end
      local block, group = stage:split("g", groups_of_tile, tail(groups_of_tile), "block", "group")
      local tiles, pixel = stage:split("w", pixels_of_tile, tail(pixels_of_tile), "tile", "pixel")
      local band, row = stage:split("h", p.band, "guard", "band", "row")
      stage:reorder("o", group, pixel, tiles, row, band, "n", block)
      stage:fuse(stage:fuse(band, "n", "bands"), block, "job"):parallel()
      stage:vectorize("o"):vectorize(group):unroll(pixel)
    end
    local whole = y:dim(1):extent():at_least(groups):and_(y:dim(2):extent():at_least(pixels))
    tile(y:specialize(whole:and_(y:dim(1):stride():eq(p.panel)):and_(k.x:dim(1):stride():eq(p.channels))), groups, pixels)
    tile(y, 1, 1)

    local function in_lanes(stage) return stage:vectorize "o":vectorize("g", groups, "guard"):unroll "w" end
    in_lanes(k.acc:compute_at(y, "tile"):store_in "stack":bound("o", 0, p.panel))
    in_lanes(k.acc:update(0):reorder("o", "g", "w", "tap_y", "tap_x", "tap_z"):unroll "tap_y":unroll "tap_x")
    local grouped = gemm.group(k.x:type()) > 1
    if grouped then k.acc:update(1):reorder("o", "g", "w", "rest_y", "rest_x", "rest_z") end

    -- Once a job: the weights of its groups side by side, and its band of x as f32 with the padding around it.
    k.weight_f:compute_at(y, "job"):reorder_storage("o", "g", "c", "s", "r"):reorder("o", "g", "c", "s", "r")
      :bound("o", 0, p.panel):vectorize "o"
    local band = k.x:type() ~= "f32" and k.x_f or k:has "x_pad" and k.x_pad
    if band then
      band:compute_at(y, "job"):bound("c", 0, p.channels):vectorize "c":vectorize("g", groups, "guard")
      if not grouped then -- else the channels that groups leave would read it too: x comes by elements (460 us for 315)
        band:in_(k.acc):compute_at(k.acc, "tap_z"):store_in "stack":bound("c", 0, p.channels)
          :bound_extent("g", groups):vectorize "c":vectorize "g":unroll "w"
      end
    end
  end,
}
