-- Convolutions on the host, channels innermost.

local gemm = require "lib.gemm"
local mma = require "lib.mma"
local processor = require "lib.processor"

local conv = {}

-- The pixels of a register tile that suit a panel of channels. With 32 registers 28 hold sums: a tile of 14 pixels by 32 channels
-- reads half as many lines of weights as 7 by 64 would, and 14 divides the rows of most images. A tile of 7 by 64 has one register too
-- many and is slower. With 16 registers a tile is 6 pixels by 16 channels.
--
-- pixels   the number wanted with 32 registers; nil or 0: the one that suits the panel
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
-- group    channels of packed weights that lie together, 1 by default
-- dot      the target multiplies and adds a group in one instruction
-- ahead    weights are prefetched, which costs time where they lie in a cache, as most weights of 8 bits do
--
-- Rows with fewer pixels than a tile go by in smaller tiles. Where the last tile of a row sticks out, it is moved back and some
-- pixels are computed twice.
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

-- The same in blocks of pixels, which tile instructions multiply (mma.in_tiles), one call for all of a window.
--
--   for n, g, h, w, o: out = f(sum over r, s, c of x * weight)
--     ->
--   parallel job (some panels of channels, a band of rows)
--     for panel, strip of rows of the image, block of a row's pixels
--       acc on the stack = x * weight
--       out block = f(acc)
--
-- A strip is a row. Of images of up to 16 columns it is 14 rows, which are one line for the call (runtime/mma.h): acc has the pitch of x
-- with its padding, which is more than a row of out has, so that tiles are full. A row of 7 pixels by itself would fill half of a tile and
-- read all weights. Wider images gain nothing by such lines, as no block of theirs fits L1.
--
-- width    the pixels of a row of out, kernel   the columns of the window, expressions
-- block    pixels of a block
-- panels   that a job takes
-- the rest as above
function conv.blocks(out, acc, o)
  local panel, channel = out:split("o", o.panel, "guard", "panel", "channel")
  local panels, panel_step = out:split(panel, o.panels, "guard", "panels", "panel_step")
  local block, pixel = out:split("w", o.block, "guard", "block", "pixel")
  local narrow = o.width:at_most(16)
  local band, row_of_band = out:split("h", o.band, "guard", "band", "row_of_band")
  local strip, row = out:split(row_of_band, narrow:select(14, 1), "guard", "strip", "row")
  out:reorder(channel, pixel, row, block, strip, panel_step, band, "n", panels, "g")
  local bands = out:fuse(band, "n", "bands")
  out:fuse(out:fuse(bands, panels, "panel_bands"), "g", "job"):parallel()
  out:vectorize(channel, o.lanes, "guard"):unroll(channel)
  -- One loop over all blocks, so that the next one can be begun while this one is finished (runtime/mma_ahead.h).
  out:never_partition(block, strip)

  -- Of an image without columns, whose blocks nobody computes, there is still a size to state.
  local one_block = narrow:and_(o.width:at_least(1))
  mma.in_tiles(acc, out, "block", {
    col = "o", row = "w", columns = o.panel, rows = one_block:select(o.width:plus(o.kernel):plus(-1), o.block),
    lanes = o.lanes, group = o.group,
    k = "tap_x", around = { "tap_y", "tap_z" }, rest = "rest_x", rest_around = { "rest_y", "rest_z" },
  })
end

-- Computes a convolution in groups of few channels with the output channels of several groups in the SIMD lanes.
--
--   for n, g, h, w, o: out = f(sum over r, s, c of x * weight)
--     ->
--   parallel job (groups that fill a vector, a band of rows)
--     for row of the band, tile of pixels
--       acc in registers = 0             -- vectors over o and g, one a pixel; the caller orders what adds to them
--       out tile = f(acc)
--
-- k        with y, x and acc        lanes    SIMD lanes of the sums
-- p        panel and channels, of a group in y and in x, which become constants; pixels of the tile, with 32 registers; band
-- Returns what puts a stage of acc into the lanes, and the groups of a vector.
function conv.groups_in_lanes(k, p, target, lanes)
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
  return in_lanes, groups
end

-- Schedules conv2d of f32, f16 and bf16.
--
-- p        panel, band; pixels, 0 for what suits; channels of x, if they are few
-- by_tiles where the target has tile instructions for the type, with p.block and p.panels
function conv.of_floats(k, p, target, by_tiles)
  local wide = target.vector_registers >= 32
  local lanes = target:lanes "f32"
  local type = k.x:type()
  local columns = wide and p.panel or 2 * lanes
  local dot = gemm.has_dot(target, type, columns)
  k.y:dim(0):set_min(0)
  if by_tiles then
    conv.blocks(k.y, k.acc, {
      width = k.y:dim(2):extent(), kernel = k.weight_packed:dim(3):extent(), block = p.block,
      lanes = lanes, panel = p.panel, band = p.band, panels = p.panels, group = gemm.group(type),
    })
  else
    conv.register_tiles(k.y, k.acc, {
      width = k.y:dim(2):extent(),
      lanes = lanes,
      panel = p.panel,
      columns = columns,
      pixels = conv.pixels(target, p.panel, p.pixels),
      band = p.band,
      group = gemm.group(type),
      dot = dot,
      -- Weights of many channels come from memory, and prefetches pay. Those of few channels lie in a cache, and lose by them only on
      -- Intel's processors.
      ahead = not processor.is_intel(target),
    })
  end
  if p.channels > 0 then
    k.x:dim(0):set_extent(p.channels)
    if gemm.group(type) == 1 then k.acc:update(0):unroll("tap_x"):unroll("tap_y") end
  end
  local band = type ~= "f32" and not dot and not by_tiles and k.x_f or k:has "x_pad" and k.x_pad
  if band then
    band:compute_at(k.y, "job")
    if p.channels > 0 then
      band:unroll "c"
    else
      band:vectorize("c", lanes, "guard")
    end
  end
end

-- Schedules conv2d_int8.
--
-- p        panel, pixels, band; copy: channels copied at once
-- by_tiles as above
function conv.of_bytes(k, p, target, by_tiles)
  local wide = target.vector_registers >= 32
  local lanes = target:lanes "i32"
  k.y:dim(0):set_min(0)
  if by_tiles then
    conv.blocks(k.y, k.acc, {
      width = k.y:dim(2):extent(), kernel = k.weight_packed:dim(3):extent(), block = p.block,
      lanes = lanes, panel = p.panel, band = p.band, panels = p.panels, group = 4,
    })
  else
    conv.register_tiles(k.y, k.acc, {
      width = k.y:dim(2):extent(),
      lanes = lanes,
      panel = p.panel,
      columns = wide and p.panel or 2 * lanes,
      pixels = wide and p.pixels or 6,
      band = p.band,
      group = 4,
      dot = gemm.has_dot(target, "u8"),
    })
  end
  for _, of_channel in ipairs { "zero_sum", "sum_scale" } do
    if k:has(of_channel) then k[of_channel]:compute_at(k.y, "job"):vectorize("o", lanes, "guard") end
  end
  if k:has "x_u" then k.x_u:compute_at(k.y, "job"):vectorize("c", p.copy, "guard") end
end

-- Computes a Func of a depthwise convolution in 8 bits in tiles of registers, some pixels of a row by some channels, with the
-- sums over the window accumulated in them. Rows of x that an instruction multiplies and adds come side by side, once for
-- all windows of a tile that they lie in, or, where windows are wider than a 3x3 and tiles overlap much, once for a row of the band.
--
--   for n, h, w, c: out = f(sum over r, s of x * weight)
--     ->
--   parallel job (a band of rows)
--     weight_rows; what the epilogue needs of a channel
--     for part of the channels, row of the band, tile of pixels
--       acc in registers = 0
--       for r in groups: x_near of the columns of the tile; for s: acc += x_near * weight_rows
--       out tile = f(acc)
--
-- out      the Func to tile; loops "c", "w", "h", "n"       width, channels    its extents, expressions
-- lanes    SIMD lanes        vectors   of channels of the tile        pixels   of the tile        band     rows that a job takes
--
-- A tile that sticks out is moved back. Fewer channels than a tile has go by one vector at a time, and fewer pixels one by one.
function conv.byte_windows(k, out, o)
  local across, wide = o.vectors * o.lanes, o.channels:at_least(o.vectors * o.lanes)
  local function tile(stage, channels, pixels)
    local part, c = stage:split("c", channels, channels == o.lanes and "guard" or "shift_inwards", "part", "lane")
    local tiles, pixel = stage:split("w", pixels, pixels > 1 and "shift_inwards" or "auto", "tile", "pixel")
    local band, row = stage:split("h", o.band, "guard", "band", "row")
    stage:reorder(c, pixel, tiles, row, part, band, "n")
    stage:fuse(band, "n", "job"):parallel()
    stage:vectorize(c):unroll(pixel)
  end
  local function tiles(stage, pixels)
    if o.vectors > 1 then tile(stage:specialize(wide), across, pixels) end
    tile(stage, o.lanes, pixels)
  end
  if o.pixels > 1 then tiles(out:specialize(o.width:at_least(o.pixels)), o.pixels) end
  tiles(out, 1)

  local function in_lanes(stage)
    stage:vectorize("c", o.lanes, "guard"):unroll("c", o.vectors, "guard"):unroll "w"
  end
  in_lanes(k.acc:compute_at(out, "tile"):store_in "stack")
  local sum = k.acc:update(0)
  sum:reorder("tap_x", "c", "w", "h", "tap_y", "tap_z"):atomic():vectorize "tap_x"
  in_lanes(sum)
  if k:has "x_near" then
    in_lanes(k.x_near:compute_at(k.acc, "tap_z"):store_in "stack":unroll "i")
    sum:unroll "tap_y"
  else
    k.x_rows:compute_at(out, "row"):vectorize("c", o.lanes, "guard"):unroll "i"
  end

  k.weight_rows:compute_at(out, "job"):vectorize("c", o.lanes, "guard"):unroll "i"
  if k:has "zero_sum" then
    k.zero_sum:compute_at(out, "job"):vectorize("c", o.lanes, "guard")
    k.zero_sum:update(0):vectorize("c", o.lanes, "guard")
  end
end

return conv
