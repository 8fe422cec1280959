-- Convolution in groups of few channels: the SIMD lanes hold the output channels of several groups. A vector of x
-- is those groups' inputs at a pixel, loaded once for the columns of the window; one shuffle spreads a channel of
-- each group over the lanes of the group. The numbers of channels of a group are constants: panel (outputs)
-- and channels.

local conv = require "lib.conv"
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
    local in_lanes, groups = conv.groups_in_lanes(k, p, target, lanes)
    local y = k.y
    in_lanes(k.acc:update(0):reorder("o", "g", "w", "tap_y", "tap_x", "tap_z"):unroll "tap_y":unroll "tap_x")
    local grouped = gemm.group(k.x:type()) > 1
    if grouped then k.acc:update(1):reorder("o", "g", "w", "rest_y", "rest_x", "rest_z") end

    -- Once a job: the weights of its groups side by side, and its band of x as f32 with the padding around it.
    k.weight_f:compute_at(y, "job"):reorder_storage("o", "g", "c", "s", "r"):reorder("o", "g", "c", "s", "r")
      :bound("o", 0, p.panel):vectorize "o"
    local band = k.x:type() ~= "f32" and k.x_f or k:has "x_pad" and k.x_pad
    if band then
      band:compute_at(y, "job"):bound("c", 0, p.channels):vectorize "c":vectorize("g", groups, "guard")
      if not grouped then -- else the channels that groups leave would read it too: x comes by elements
        band:in_(k.acc):compute_at(k.acc, "tap_z"):store_in "stack":bound("c", 0, p.channels)
          :bound_extent("g", groups):vectorize "c":vectorize "g":unroll "w"
      end
    end
  end,
}
