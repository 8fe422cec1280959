-- Convolution in 8 bits in groups of few channels: the lanes of conv2d.grouped.lua, which hold the output channels of several
-- groups, with sums of 32 bits. Four channels of a pixel are 32 bits of a vector of x; one shuffle spreads those of each group
-- over its lanes, and where the target has VNNI one instruction makes four products and adds them. The numbers of channels of a group
-- are constants: panel (outputs) and channels. A panel of conv2d_int8.lua would hold one group and leave most lanes idle.

local conv = require "lib.conv"
local gemm = require "lib.gemm"

return schedule "conv2d_int8" {
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
    local lanes = target:lanes "i32"
    local in_lanes, groups = conv.groups_in_lanes(k, p, target, lanes)
    local y = k.y
    local sum, rest = k.acc:update(0), k.acc:update(1)
    sum:split("tap_x", 4, "guard", "fours", "member")
    if gemm.has_dot(target, "u8") then
      sum:reorder("member", "o", "g", "w", "tap_y", "fours", "tap_z"):atomic():vectorize "member"
    else
      sum:reorder("o", "g", "w", "member", "tap_y", "fours", "tap_z"):unroll "member"
    end
    in_lanes(sum:unroll "tap_y":unroll "fours")
    in_lanes(rest:reorder("o", "g", "w", "rest_y", "rest_x", "rest_z"))

    -- Once a job: the weights of its groups side by side, what the epilogue needs of a channel, and its band of x with the
    -- zero point around it.
    k.weight_packed:compute_at(y, "job"):reorder_storage("_0", "_1", "_6", "_2", "_3", "_4", "_5")
      :vectorize "_0":vectorize("_1", p.panel)
    for _, of_channel in ipairs { "zero_sum", "sum_scale" } do
      if k:has(of_channel) then k[of_channel]:compute_at(y, "job"):bound("o", 0, p.panel):vectorize "o" end
    end
    if k:has "x_u" then
      k.x_u:compute_at(y, "job"):bound("c", 0, p.channels):vectorize "c":vectorize("g", groups, "guard")
    end
  end,
}
