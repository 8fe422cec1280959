-- Convolution in groups of few channels: a thread has all output channels of a group for some pixels of a row, and
-- neighbouring threads have neighbouring groups, whose channels lie together in x and in y.

local gemm = require "lib.gemm"
local grid = require "lib.gpu_grid"

return schedule "conv2d" {
  target = "cuda",

  generator = {
    weights = "packed",
    panel = tune { 4, 8, 16, default = 4 }, -- channels of y in a group
  },

  params = {
    pixels = tune { 1, 2, 4, 8, default = 4 },   -- of the register tile, along a row
    groups = tune { 8, 16, 32, default = 16 },   -- threads side by side
    tiles  = tune { 4, 8, 16, default = 8 },     -- of pixels in a block
  },

  apply = function(k, p)
    local y, grouped = k.y, gemm.group(k.x:type()) > 1
    y:dim(0):set_bounds(0, p.panel)
    y:bound("o", 0, p.panel)
    local function tile(stage, pixels)
      stage:split("g", p.groups, "guard", "groups", "thread")
      stage:split("w", pixels, pixels > 1 and "shift_inwards" or "auto", "tile", "pixel")
      stage:split("tile", p.tiles, "guard", "tiles", "thread_tile")
      stage:reorder("o", "pixel", "thread", "thread_tile", "groups", "tiles", "h", "n")
      stage:gpu_blocks { grid.fuse(stage, { "groups", "tiles" }), "h", "n" }:gpu_threads { "thread", "thread_tile" }
      stage:vectorize("o"):unroll("pixel"):never_partition_all()
    end
    tile(y:specialize(y:dim(2):extent():at_least(p.pixels)), p.pixels)
    tile(y, 1)

    k.acc:compute_at(y, "thread"):store_in "register":bound("o", 0, p.panel)
    k.acc:bound_extent("g", 1):bound_extent("h", 1):bound_extent("n", 1)
    k.acc:vectorize("o"):unroll("w"):never_partition_all()
    for i, tap in ipairs { "tap", "rest" } do
      if i == 1 or grouped then
        local sum = k.acc:update(i - 1)
        sum:reorder("o", "w", tap .. "_x", tap .. "_y", tap .. "_z", "g", "h", "n")
        sum:vectorize("o"):unroll("w"):never_partition_all()
      end
    end
    y:stream()
  end,
}
