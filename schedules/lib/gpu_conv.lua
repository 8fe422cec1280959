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
  repack  = tune { false, true, default = false }, -- copies of x and the weights, where their pixels begin anywhere
  gathered = tune { 0, 1, default = 0 },            -- 1: windows are gathered first, as of images of few channels
  cluster = tune { 1, 2, 4, 8, default = 1 },       -- blocks that share the steps of a box: few pixels, many channels
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

-- The dimensions of x [c, g, w, h, n] and weight_ohwi [c, s, r, o, g] along which the copy engine goes: it wants steps of 16 bytes.
local steps = { x = { 1, 2, 3, 4 }, weight_ohwi = { 1, 2, 3, 4 } }

-- As many channels as fill an eighth of what is fetched at a time, and less, are few.
local few = 8

-- Versions for calls of so few pixels and channels that small boxes give each multiprocessor one at most. Where they are fewer yet,
-- several blocks share the steps of a box; adding up what each has takes as long as some steps. `invariant`: none do.
local function small_boxes(k, target, invariant)
  local y, x, weight = k.y, k.x, k.weight_ohwi
  local function tiles(d, size) return (y:dim(d):extent() + (size - 1)) // size end
  local boxes = tiles(0, 64) * y:dim(1):extent() * tiles(2, 8) * tiles(3, 8) * y:dim(4):extent()
  local depth = x:dim(0):extent() * grid.bytes_of[x:type()] -- bytes of a pixel
  local fetches = (depth + 127) // 128 * weight:dim(1):extent() * weight:dim(2):extent()
  local versions = {}
  for _, cluster in ipairs(invariant and { 1 } or { 4, 2, 1 }) do
    local fits = (boxes * cluster):at_most(target.multiprocessors):and_(fetches:at_least(8 * cluster))
    table.insert(versions, { when = fits, cluster = cluster, tile_w = 8, tile_h = 8, tile_n = 1, columns = 64, stages = 6 })
  end
  return versions
end

-- The versions of a convolution by tensor_windows(). Calls in whose images or weights a pixel begins anywhere copy both first: read element
-- by element, as they lie, they take thirty times as long. Calls of few channels gather their windows, as 64 channels are fetched and
-- multiplied for each element of the kernel, however few there are. `invariant`: an image's result is the same bits for any number of
-- images.
function conv.window_versions(k, p, target, invariant)
  if p.repack or p.gathered == 1 then return { {} } end
  local aligned
  for name, dims in pairs(steps) do
    for _, d in ipairs(dims) do
      local dim = k[name]:dim(d)
      local fits = dim:stride():multiple_of(16 // grid.bytes_of[k[name]:type()]):or_(dim:extent():at_most(1))
      aligned = aligned and aligned:and_(fits) or fits
    end
  end
  local channels = k.x:dim(0):extent()
  local has_few = channels:at_least(1):and_(channels:at_most(few))
  local gathers = has_few:and_(aligned:not_():or_(k.weight_ohwi:dim(1):extent():above(1)))
  local function in_boxes(version, w, h, n) -- one is enough
    if p.tile_n == 0 then version.tile_w, version.tile_h, version.tile_n = w, h, n end
    return version
  end
  local versions = {
    in_boxes({ when = gathers, gathered = 1, stages = 2 }, 16, 8, 1),
    in_boxes({ when = aligned:not_():and_(channels:at_least(1)), repack = true }, 8, 8, 2),
  }
  if p.cluster == 1 and p.tile_n == 0 and p.columns == 0 then
    for _, v in ipairs(small_boxes(k, target, invariant)) do table.insert(versions, v) end
  end
  table.insert(versions, {})
  return versions
end

-- Gathers the windows of few channels, and the weights that they meet, so that a convolution is a product of matrices.
function conv.gather(k)
  local y, w = k.y, k.weight_ohwi
  local depth = w:dim(0):extent() * w:dim(1):extent() * w:dim(2):extent()
  local lanes = 16 // grid.bytes_of[k.x_window:type()]
  local function bound(func, elements, dims)
    func:compute_root():align_storage("k", lanes):bound("k", 0, elements)
    for name, d in pairs(dims) do func:bound(name, y:dim(d):min(), y:dim(d):extent()) end
  end
  bound(k.x_window, (depth + (lanes - 1)) // lanes * lanes, { g = 1, w = 2, h = 3, n = 4 })
  bound(k.weight_window, depth, { o = 0, g = 1 })
  -- A thread has 8 elements of the windows of 8 pixels of a row, for which it finds the places in the window once.
  k.x_window:split("k", 8, "round_up", "vector", "lane")
  k.x_window:split("vector", 4, "guard", "k_block", "k_thread")
  k.x_window:split("w", 64, "guard", "w_block", "in_block")
  k.x_window:split("in_block", 8, "guard", "step", "w_thread")
  k.x_window:split("h", 8, "guard", "h_block", "h_thread")
  k.x_window:reorder("lane", "step", "k_thread", "w_thread", "h_thread", "k_block", "w_block", "h_block", "g", "n")
  k.x_window:vectorize("lane"):unroll("step")
  k.x_window:gpu_blocks { grid.fuse(k.x_window, { "k_block", "w_block" }), "h_block", grid.fuse(k.x_window, { "g", "n" }) }
  k.x_window:gpu_threads({ "k_thread", "w_thread", "h_thread" }):never_partition_all()
  k.weight_window:split("k", 64, "guard", "block", "thread")
  k.weight_window:gpu_blocks { "block", grid.fuse(k.weight_window, { "o", "g" }) }:gpu_threads("thread"):never_partition_all()
end

-- Copies x, with the zeros around it, and weight_ohwi so that their pixels begin where the copy engine can take them.
-- padded    the name of the Func that is x with these zeros, which is not there where there are none
function conv.repack(k, padded)
  local function copy(func, from, dims)
    func:compute_root():align_storage(dims[1], 16 // grid.bytes_of[from:type()])
    func:split(grid.fuse(func, { dims[1], dims[2], dims[3] }), 256, "guard", "block", "thread")
    func:gpu_blocks { "block", grid.fuse(func, { dims[4], dims[5] }) }:gpu_threads("thread"):never_partition_all()
  end
  local function copy_all(from)
    local func, dims = from:in_(), { "_0", "_1", "_2", "_3", "_4" }
    for d, name in ipairs(dims) do func:bound(name, from:dim(d - 1):min(), from:dim(d - 1):extent()) end
    copy(func, from, dims)
  end
  if k:has(padded) then
    copy(k[padded], k.x, { "c", "g", "w", "h", "n" })
  else
    copy_all(k.x)
  end
  copy_all(k.weight_ohwi)
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
-- y        a Func over [o, g, w, h, n]     acc    the Func that sums over "tap_x" (channels), "tap_y" and "tap_z", or over "depth"
-- o        window_params; without a cluster, each block has all steps of its box
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
  local fetched = acc:type() == "i32" and 128 or 64 -- 128 bytes of operands
  if o.gathered == 1 then
    step:split("depth", fetched, "guard", "step", "depth")
  else
    step:split("tap_x", fetched, "guard", "slice", "depth")
    step:fuse("tap_y", "tap_z", "tap")
    step:fuse("tap", "slice", "step")
  end
  step:reorder("depth", "o", "w", "h", "n", "g", "step"):never_partition_all()
  step:mma():pipeline(o.stages, o.raster)
  if (o.cluster or 1) > 1 then step:split_k_cluster(o.cluster) end
end

return conv
