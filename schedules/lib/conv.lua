-- Convolutions on the host, channels innermost.

local gemm = require "lib.gemm"

local conv = {}

-- The pixels of a register tile that suit a panel of channels: with 32 registers 28 sums of 32 channels, which 14 pixels read in
-- half as many lines of weights as 7 of 64 would, and divide the rows of most images; where there are 16, 16 channels by 6.
-- Emerald Rapids, 3x3, 28 x 28 x 128: 14 pixels by 32 channels 1.43 ms, 6 by 64 1.49, 8 by 48 1.80, 9 by 48 2.03, 7 by 64, a
-- register too many, 1.82; 56 x 56 x 64: 1.49, 1.56, 7 by 64 1.88; 1x1: 0.165, 0.178, 0.161.
--
-- pixels   what is wanted with 32 registers; nothing or 0: what suits
function conv.pixels(target, panel, pixels)
  if target.vector_registers < 32 then return 6 end
  return pixels and pixels > 0 and pixels or ({ [32] = 14, [48] = 8, [64] = 6 })[panel]
end

-- Computes a Func in tiles of registers, some pixels of a row of the image by some channels, with the
-- sum over the window accumulated in them.
--
--   for n, g, h, w, o: out = f(sum over r, s, c of x * weight)
--     ->
--   parallel job (a panel of channels, a band of rows)
--     for row of the band, tile of pixels, part of the panel
--       acc in registers = 0
--       for r, s, c: acc += x * weight     -- pixels x columns independent sums
--       out tile = f(acc)
--
-- out      the Func to tile; loops "o", "g", "w", "h", "n"
-- acc      the Func that sums over "tap_x" (channels), "tap_y" and "tap_z" (the window)
-- width    the pixels of a row of out, an expression
-- lanes    SIMD lanes        panel    channels of a panel of the weights
-- columns  of the tile: divides panel        pixels   of the tile
-- band     rows that a job takes
-- group    channels of packed weights that lie together, 1 if nothing is said
-- dot      the target multiplies and adds a group in one instruction
-- ahead    weights are prefetched, which costs where they lie in a cache (8 bits, Zen 5: 2 %)
--
-- Rows with fewer pixels than a tile has are done in smaller tiles; where the last tile of a row sticks
-- out, it is moved back and some pixels are computed twice.
function conv.register_tiles(out, acc, o)
  local function tile(stage, pixels)
    local panel, channel = stage:split("o", o.panel, "guard", "panel", "channel")
    local part, col = stage:split(channel, o.columns, "guard", "part", "col")
    local tiles, pixel = stage:split("w", pixels, pixels > 1 and "shift_inwards" or "auto", "tile", "pixel")
    local band, row = stage:split("h", o.band, "guard", "band", "row")
    stage:reorder(col, pixel, part, tiles, row, band, "n", panel, "g")
    local bands = stage:fuse(band, "n", "bands")
    stage:fuse(stage:fuse(bands, panel, "panels"), "g", "job"):parallel()
    stage:vectorize(col, o.lanes, "guard"):unroll(col):unroll(pixel)
  end

  local pixels = o.pixels
  while pixels > 2 do
    tile(out:specialize(o.width:at_least(pixels)), pixels)
    pixels = pixels > 4 and math.max(pixels // 2, 4) or 1
  end
  tile(out, 1)

  gemm.in_registers(acc, out, "part", {
    col = "o", row = "w", columns = o.columns, lanes = o.lanes, group = o.group, dot = o.dot,
    k = "tap_x", around = { "tap_y", "tap_z" }, rest = "rest_x", rest_around = { "rest_y", "rest_z" },
    ahead = o.ahead or false,
  })
end

return conv
