-- Depthwise convolution: channels in the SIMD lanes, the sums of a tile of pixels in registers, so that an
-- element of x is loaded once for all windows of the tile that it lies in. x is read as it is: only
-- tiles at the border ask what lies outside, which is quicker than a copy of the band with its padding.

return schedule "depthwise_conv2d" {
  target = "cpu",

  params = {
    pixels = tune { 1, 2, 4, 7, 8, default = 4 }, -- of a tile, along a row
    rows   = tune { 1, 2, 4, default = 2 },       -- of a tile
    band   = tune { 1, 2, 4, 8, default = 2 },    -- rows of tiles a task
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local y = k.y

    local function tile(stage, pixels, rows, tail)
      local part, c = stage:split("c", lanes, tail, "part", "lane")
      local tiles, pixel = stage:split("w", pixels, pixels > 1 and "shift_inwards" or "auto", "tile", "pixel")
      local strips, line = stage:split("h", rows, rows > 1 and "shift_inwards" or "auto", "strip", "line")
      local band, strip = stage:split(strips, p.band, "guard", "band", "strip_in_band")
      stage:reorder(c, pixel, line, tiles, strip, part, band, "n")
      stage:fuse(band, "n", "job"):parallel()
      stage:vectorize(c):unroll(pixel):unroll(line)
    end
    tile(y:specialize(y:dim(0):extent():at_least(lanes):and_(y:dim(1):extent():at_least(p.pixels))
      :and_(y:dim(2):extent():at_least(p.rows))), p.pixels, p.rows, "shift_inwards")
    tile(y, 1, 1, "guard")
    y:never_partition_all()

    k.acc:compute_at(y, "tile"):store_in "stack"
    k.acc:update(0):reorder("c", "w", "h", "tap_x", "tap_y"):unroll "tap_x":unroll "tap_y"
    for _, stage in ipairs { k.acc, k.acc:update(0) } do
      stage:vectorize("c", lanes, "guard"):unroll "w":unroll "h"
    end
  end,
}
