-- Convolutions on a GPU, in register tiles of threads and on the tensor cores.

local grid = require "lib.gpu_grid"

local conv = {}

-- Convolves in tiles of registers: a thread has some pixels of a row by 8 output channels.
--
--   for n: for h: for w: for g: for o: y = f(sum over r, s, c of x * weight)
--     ->
--   blocks (panel of channels, tiles of pixels), row h, (g, n)
--     threads thread (channels), thread_tile (pixels)
--       acc in registers = 0
--       for r, s: for c: acc += x * weight       -- pixels x 8 independent sums
--       y tile = f(acc)
--
-- y        a Func over [o, g, w, h, n]     panel    channels of a panel of the weights
-- pixels   of a thread's tile              tiles    of pixels in a block
-- group    channels of x that lie together in the weights
--
-- A tile that sticks out of its row is moved back; the pixels of a shorter row are computed one by one.
function conv.register_tiles(k, y, o)
  local channels = 8
  local function tile(stage, pixels)
    stage:split("o", channels, "guard", "part", "channel")
    stage:split("part", o.panel // channels, "guard", "panel", "thread")
    stage:split("w", pixels, pixels > 1 and "shift_inwards" or "auto", "tile", "pixel")
    stage:split("tile", o.tiles, "guard", "tiles", "thread_tile")
    stage:reorder("channel", "pixel", "thread", "thread_tile", "panel", "tiles", "h", "g", "n")
    stage:gpu_blocks { grid.fuse(stage, { "panel", "tiles" }), "h", grid.fuse(stage, { "g", "n" }) }
    stage:gpu_threads { "thread", "thread_tile" }
    stage:vectorize("channel"):unroll("pixel"):never_partition_all()
  end
  tile(y:specialize(k.y:dim(2):extent():at_least(o.pixels)), o.pixels)
  tile(y, 1)

  k.acc:compute_at(y, "thread"):store_in "register"
  k.acc:bound_extent("o", channels):bound_extent("g", 1):bound_extent("h", 1):bound_extent("n", 1)
  k.acc:vectorize("o"):unroll("w"):never_partition_all()
  for i, tap in ipairs { "tap", "rest" } do
    if i == 1 or o.group > 1 then
      local sum = k.acc:update(i - 1)
      sum:reorder("o", "w", tap .. "_x", tap .. "_y", tap .. "_z", "g", "h", "n")
      sum:vectorize("o"):unroll("w"):never_partition_all()
    end
  end
end

-- What tensor_windows() leaves open. Where a number is 0, the sizes of a call decide.
conv.window_params = {
  -- A box of 64, 128 or 192 pixels: what sticks out of images and batch is computed in vain.
  tile_w  = tune { 0, 1, 2, 4, 8, 16, default = 0 },
  tile_h  = tune { 0, 1, 2, 4, 8, 16, default = 0 },
  tile_n  = tune { 0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 48, default = 0 },
  columns = tune { 0, 64, 128, 256, default = 0 }, -- channels of y
  stages  = tune { 2, 3, 4, 5, 6, default = 4 },   -- fetched ahead; a stage takes 128 (pixels + columns) bytes
  raster  = tune { 1, 4, 8, 16, default = 4 },     -- boxes taken together
}

-- The boxes that a call chooses from, for many images and for few, and the columns, for few channels and for many.
local function boxes_of(p)
  return p.tile_n > 0 and { { w = p.tile_w, h = p.tile_h, n = p.tile_n } } or { { w = 2, h = 2, n = 32 }, { w = 8, h = 8, n = 2 } }
end

local function columns_of(p)
  return p.columns > 0 and { p.columns } or { 64, 128 }
end

-- Whether a box is given whole or not at all, and shared memory has room for the stages and for the tile on its way out. For `where`.
function conv.windows_fit(p, target)
  local given = (p.tile_w > 0 and 1 or 0) + (p.tile_h > 0 and 1 or 0) + (p.tile_n > 0 and 1 or 0)
  if given % 3 ~= 0 then return false end
  for _, box in ipairs(boxes_of(p)) do
    local pixels = box.w * box.h * box.n
    for _, columns in ipairs(columns_of(p)) do
      if pixels % 64 ~= 0 or pixels > 192 or pixels * columns > 128 * 256
        or p.stages * 128 * (pixels + columns) + 2 * pixels * columns >= target.shared_bytes - 2048 then
        return false
      end
    end
  end
  return true
end

-- Has the tensor cores convolve. A block has a box of pixels, which are the rows of a product, and applies what follows the
-- convolution to its sums.
--
--   for n: for h: for w: for o: y = f(sum over r, s, c of x * weight)
--     ->
--   blocks (group, box of images, rows and columns), tile of o
--     acc = 0, in registers
--     for 128 bytes of channels: for r: for s: fetch the box of x, moved by r and s, and weights | acc += x * weight
--     y = f(acc)
--
-- y        a Func over [o, g, w, h, n]     acc    the Func that sums over "tap_x" (channels), "tap_y" and "tap_z"
-- o        window_params
--
-- Where the box or the columns are 0, there are several kernels, of which a call takes one: for up to 64 channels of y and for more,
-- for 25 images or more and for fewer. A box of many images and few pixels hardly sticks out of an image, while boxes of 8 x 8 over
-- 28 x 28 pixels compute a fourth in vain.
function conv.tensor_windows(y, acc, o)
  local boxes, columns = boxes_of(o), columns_of(o)
  local many_images, few_channels = y:dim(4):extent():at_least(25), y:dim(0):extent():at_most(64)
  local function tiles(stage, box, across)
    stage:split("o", across, "guard", "tile_o", "o_in_tile")
    for _, d in ipairs { "w", "h", "n" } do stage:split(d, box[d], "guard", "box_" .. d, d .. "_in_box") end
    stage:reorder("o_in_tile", "w_in_box", "h_in_box", "n_in_box", "tile_o", "box_w", "box_h", "box_n", "g")
    stage:gpu_blocks { "tile_o", grid.fuse(stage, { "box_w", "box_h", "box_n", "g" }) }
    stage:never_partition_all()
  end
  -- One condition inside the other: of both at once Halide 21 does not see in the second branch that one holds.
  local function of_channels(stage, box)
    if columns[2] then
      tiles(stage:specialize(few_channels), box, columns[1])
    end
    tiles(stage, box, columns[#columns])
  end
  if boxes[2] then of_channels(y:specialize(many_images), boxes[1]) end
  of_channels(y, boxes[#boxes])

  acc:compute_at(y, "tile_o"):store_in "register":bound_extent("g", 1)
  acc:bound_extent("o", columns[2] and few_channels:select(columns[1], columns[2]) or columns[1])
  for _, d in ipairs { "w", "h", "n" } do
    acc:bound_extent(d, boxes[2] and many_images:select(boxes[1][d], boxes[2][d]) or boxes[1][d])
  end
  acc:never_partition_all()
  local step = acc:update(0)
  step:split("tap_x", acc:type() == "i32" and 128 or 64, "guard", "slice", "depth") -- 128 bytes of operands
  step:fuse("tap_y", "tap_z", "tap")
  step:fuse("tap", "slice", "step")
  step:reorder("depth", "o", "w", "h", "n", "g", "step"):never_partition_all()
  step:mma():pipeline(o.stages, o.raster)
end

return conv
