-- Convolution in 8 bits with its epilogue, weights packed into panels of output channels: the tiles of conv2d.lua
-- with sums of 32 bits. Where the target has VNNI, one instruction makes four products and adds them; elsewhere bytes are widened
-- and multiplied one by one. Each job first copies its band of x with the zero point around it, and signed bytes as unsigned;
-- without either, x is read as it is. What the epilogue needs of a channel is computed once a job: the epilogue is a large part of a 1x1.
-- Groups of few channels want conv2d_int8.grouped.lua.

local conv = require "lib.conv"
local gemm = require "lib.gemm"

return schedule "conv2d_int8" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 32 },
    skip_padding = tune { true, false, default = true },
  },

  params = {
    -- Of the register tile, with 32 registers: 14 pixels leave none for the epilogue of a 1x1.
    pixels = tune { 4, 6, 7, 8, 14, default = 7 },
    band   = tune { 2, 4, 8, 16, default = 8 },     -- rows of the image a job
    copy   = tune { 8, 16, 32, 64, default = 16 },  -- channels copied at once
  },

  where = function(p, target)
    return gemm.tile_fits({ rows = p.pixels, panel = p.panel }, target)
  end,

  apply = conv.of_bytes,
}
