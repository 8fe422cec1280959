-- Convolutions on a GPU, in register tiles of threads and on the tensor cores.

local gemm = require "lib.gpu_gemm"
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
  columns = tune { 0, 64, 128, 192, 256, default = 0 }, -- channels of y
  stages  = tune { 0, 2, 3, 4, 5, 6, 8, default = 0 },  -- fetched ahead; a stage takes 128 (pixels + columns) bytes
  raster  = tune { 1, 4, 8, 16, default = 4 },     -- boxes taken together
  repack  = tune { false, true, default = false }, -- copies of x and the weights, where their pixels begin anywhere
  gathered = tune { 0, 1, default = 0 },            -- 1: windows are gathered first, as of images of few channels
  cluster = tune { 1, 2, 4, 8, default = 1 },       -- blocks that share the steps of a box: few pixels, many channels
}

-- The boxes and columns that a call chooses from. By the costs of products each other one lowers those of 452 convolutions of public models
-- by less than 0.003 in the mean (docs/notes/2026-11-population.md). The last is for calls that the copy engine cannot serve, too.
local windows = {
  { w = 8,  h = 8, n = 1, columns = 64 },
  { w = 8,  h = 8, n = 2, columns = 64 },
  { w = 16, h = 8, n = 1, columns = 64 },
  { w = 16, h = 8, n = 1, columns = 128 },
  { w = 16, h = 8, n = 1, columns = 192 },
  { w = 4,  h = 4, n = 8, columns = 128 },
  { w = 4,  h = 4, n = 8, columns = 256 },
  { w = 8,  h = 8, n = 2, columns = 128 },
}

-- As many stages as shared memory has room for, up to 6; nil where what is given does not fit. With 4 a multiprocessor has two blocks of
-- 128 pixels and 64 channels, of which one multiplies while the other's results leave: most of the time, where channels of x are few.
local function stages_of(pixels, columns, given, target)
  local most = pixels * columns == 128 * 64 and 4 or math.min(gemm.tile_of(pixels, columns).stages, 6)
  local p = { rows = pixels, columns = columns, stages = given > 0 and given or most }
  while p.stages > 2 and given == 0 and not gemm.tiles_fit(p, target, { products = 1 }) do p.stages = p.stages - 1 end
  return gemm.tiles_fit(p, target, { products = 1 }) and p.stages or nil
end

-- Those with what `p` gives in place of their own, each once.
local function windows_of(p, target)
  local all, known = {}, {}
  for _, t in ipairs(windows) do
    local box = p.tile_n > 0 and { w = p.tile_w, h = p.tile_h, n = p.tile_n } or t
    local v = { tile_w = box.w, tile_h = box.h, tile_n = box.n, columns = p.columns > 0 and p.columns or t.columns }
    v.stages = stages_of(box.w * box.h * box.n, v.columns, p.stages, target)
    local name = table.concat({ v.tile_w, v.tile_h, v.tile_n, v.columns }, " ")
    if v.stages and not known[name] then
      known[name] = true
      table.insert(all, v)
    end
  end
  return all
end

-- Whether a box is given whole or not at all, and shared memory has room for the stages and for a part of the tile on its way out. For
-- `where`.
function conv.windows_fit(p, target)
  local given = (p.tile_w > 0 and 1 or 0) + (p.tile_h > 0 and 1 or 0) + (p.tile_n > 0 and 1 or 0)
  local pixels = p.tile_w * p.tile_h * p.tile_n
  if given % 3 ~= 0 or pixels % 64 ~= 0 or pixels > 192 or pixels * p.columns > 128 * 256 then return false end
  return #windows_of(p, target) > 0
end

-- The dimensions of x [c, g, w, h, n] and weight_ohwi [c, s, r, o, g] along which the copy engine goes: it wants steps of 16 bytes.
local outer = { x = { 1, 2, 3, 4 }, weight_ohwi = { 1, 2, 3, 4 } }

-- As many channels as fill an eighth of what is fetched at a time, and less, are few.
local few = 8

-- The blocks of a version, and the steps of each.
local function work_of(v, k)
  local y, x, weight = k.y, k.x, k.weight_ohwi
  local function tiles(d, size) return gemm.divided(y:dim(d):extent(), size) end
  local blocks = tiles(0, v.columns) * y:dim(1):extent() * tiles(2, v.tile_w) * tiles(3, v.tile_h) * tiles(4, v.tile_n)
  local steps = gemm.divided(x:dim(0):extent() * grid.bytes_of[x:type()], 128) * weight:dim(1):extent() * weight:dim(2):extent()
  return blocks, steps
end

-- Nanoseconds of a convolution, by those of a product with as many rows as a box has pixels.
local function cost_of(v, k, target)
  local blocks, steps = work_of(v, k)
  return gemm.nanoseconds(gemm.tile_of(v.tile_w * v.tile_h * v.tile_n, v.columns), blocks, steps, target)
end

-- Versions for calls of so few pixels and channels that small boxes leave most multiprocessors without one: several blocks share the steps
-- of a box. Adding up what each has takes as long as some steps.
local function small_boxes(k, target)
  local versions = {}
  for _, cluster in ipairs { 4, 2 } do
    local v = { cluster = cluster, tile_w = 8, tile_h = 8, tile_n = 1, columns = 64, stages = 6 }
    local boxes, steps = work_of(v, k)
    v.when = (boxes * cluster):at_most(target.multiprocessors):and_(steps:at_least(8 * cluster))
    table.insert(versions, v)
  end
  return versions
end

-- The versions of a convolution by tensor_windows(). Calls in whose images or weights a pixel begins anywhere copy both first: read element
-- by element, as they lie, they take thirty times as long. Calls of few channels gather their windows, as 64 channels are fetched and
-- multiplied for each element of the kernel, however few there are. `invariant`: an image's result is the same bits for any number of
-- images.
function conv.window_versions(k, p, target, invariant)
  local aligned
  for name, dims in pairs(outer) do
    for _, d in ipairs(dims) do
      local dim = k[name]:dim(d)
      local fits = dim:stride():multiple_of(16 // grid.bytes_of[k[name]:type()]):or_(dim:extent():at_most(1))
      aligned = aligned and aligned:and_(fits) or fits
    end
  end
  local channels = k.x:dim(0):extent()
  local has_few = channels:at_least(1):and_(channels:at_most(few))
  local gathers = has_few:and_(aligned:not_():or_(k.weight_ohwi:dim(1):extent():above(1)))
  local few_columns = k.y:dim(0):extent():at_most(64)
  local versions = {}
  -- In one box, by the first of these columns for few channels of y; what the caller gives stands in place of both.
  local function in_box(version, box, choices)
    if p.tile_n > 0 then box = { p.tile_w, p.tile_h, p.tile_n } end
    if p.columns > 0 then choices = { p.columns } end
    for i, columns in ipairs(choices) do
      local when = i < #choices and version.when:and_(few_columns) or version.when
      local stages = p.stages > 0 and p.stages or version.stages
      table.insert(versions, {
        when = when, gathered = version.gathered, repack = version.repack,
        tile_w = box[1], tile_h = box[2], tile_n = box[3], columns = columns, stages = stages,
      })
    end
  end
  if p.gathered == 0 and not p.repack then
    in_box({ when = gathers, gathered = 1, stages = 2 }, { 16, 8, 1 }, { 64, 128 })
    in_box({ when = aligned:not_():and_(channels:at_least(1)), repack = true, stages = 4 }, { 8, 8, 2 }, { 128 })
    if p.cluster == 1 and p.tile_n == 0 and p.columns == 0 and not invariant then
      for _, v in ipairs(small_boxes(k, target)) do table.insert(versions, v) end
    end
  end
  for _, v in ipairs(windows_of(p, target)) do
    v.cost = cost_of(v, k, target)
    table.insert(versions, v)
  end
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
  -- A thread has 8 elements of the windows of 8 pixels of a row. Their places in the window, which take divisions, a block finds once.
  k.x_window:split("k", 8, "round_up", "vector", "lane")
  k.x_window:split("vector", 4, "guard", "k_block", "k_thread")
  k.x_window:split("w", 64, "guard", "w_block", "in_block")
  k.x_window:split("in_block", 8, "guard", "step", "w_thread")
  k.x_window:split("h", 8, "guard", "h_block", "h_thread")
  k.x_window:reorder("lane", "step", "k_thread", "w_thread", "h_thread", "k_block", "w_block", "h_block", "g", "n")
  k.x_window:vectorize("lane"):unroll("step")
  local blocks = grid.fuse(k.x_window, { "k_block", "w_block" })
  k.x_window:gpu_blocks { blocks, "h_block", grid.fuse(k.x_window, { "g", "n" }) }
  k.x_window:gpu_threads({ "k_thread", "w_thread", "h_thread" }):never_partition_all()
  k.place:compute_at(k.x_window, blocks):bound_extent("k", 32)
  k.place:split("k", 8, "round_up", "vector", "lane")
  k.place:reorder("vector", "lane"):gpu_threads { "vector", "lane" }:never_partition_all()
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
function conv.tensor_windows(y, acc, o)
  local box = { { "w", o.tile_w }, { "h", o.tile_h }, { "n", o.tile_n } }
  y:split("o", o.columns, "guard", "tile_o", "o_in_tile")
  for _, d in ipairs(box) do y:split(d[1], d[2], "guard", "box_" .. d[1], d[1] .. "_in_box") end
  y:reorder("o_in_tile", "w_in_box", "h_in_box", "n_in_box", "tile_o", "box_w", "box_h", "box_n", "g")
  y:gpu_blocks { "tile_o", grid.fuse(y, { "box_w", "box_h", "box_n", "g" }) }
  y:never_partition_all()

  acc:compute_at(y, "tile_o"):store_in "register":bound_extent("g", 1):bound_extent("o", o.columns)
  for _, d in ipairs(box) do acc:bound_extent(d[1], d[2]) end
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
