-- Convolutions of models (generators/graph.cpp) on the host, with channels innermost and any epilogue.
--
-- Loops of the result are "x0" (channels), "x1" (pixels of a row, or of all images where the window is one pixel), "x2" (rows), ...

local gemm = require "lib.gemm"

local windows = {}

-- The pixels of a register tile: 14 by 32 channels or 9 by 48 with 32 registers, 6 by two vectors with 16 (lib/conv.lua). Of a row
-- whose length is known, as many as divide it with the least left over.
local function pixels_of(most, width)
  if math.type(width) ~= "integer" then return most end
  local tiles = (width + most - 1) // most
  return (width + tiles - 1) // tiles
end

-- What lies outside of the tile: rows and images as jobs. `tiles` is the loop over tiles of a row.
--
-- A panel of the weights takes its turn at all rows of an image. Where the window is one pixel there is no image, and a panel takes a block
-- of the pixels, which stay in L2 until all panels have read them: else each panel would read all of x from beyond it.
local function outer(stage, o, inner, tiles, panel)
  local order = inner
  local jobs, block
  if o.rank > 2 then
    local band, row = stage:split("x2", o.band, "guard", "band", "row")
    table.insert(order, tiles)
    table.insert(order, row)
    jobs = { band }
    for d = 3, o.rank - 1 do table.insert(jobs, "x" .. d) end
  else
    local tasks, step = stage:split(tiles, o.task, "guard", "tasks", "step")
    local task
    block, task = stage:split(tasks, o.block, "guard", "block", "task")
    table.insert(order, step)
    jobs = { task }
  end
  table.insert(jobs, panel)
  table.insert(jobs, block)
  for _, loop in ipairs(jobs) do table.insert(order, loop) end
  stage:reorder(table.unpack(order))
  local job = jobs[1]
  for i = 2, #jobs do job = stage:fuse(job, jobs[i], i == #jobs and "job" or "jobs" .. i) end
  if #jobs == 1 then stage:rename(job, "job") end
  stage:parallel "job"
end

-- Smaller tiles for rows that the largest would cover with much left over: of 10 pixels, 14 would compute 14, and of 20 28.
local BESIDE = { [14] = { 10, 8 }, [9] = { 8, 5 }, [6] = { 5, 4 } }
local LONG = 8 -- tiles of a row: what is left over of the last one is little then

-- Whether tiles cover a row with no more than an eighth of one left over.
local function fits(width, pixels)
  local whole = width:multiple_of(pixels)
  for left = 1, pixels // 8 do whole = whole:or_(width:plus(left):multiple_of(pixels)) end
  return whole
end

-- Specialises for the length of rows: a tile that divides it, the largest, or smaller ones for rows shorter than that.
local function by_width(out, o, most, tile)
  if math.type(o.width) == "integer" then return tile(out, pixels_of(most, o.width)) end
  local width = out:dim(1):extent()
  local left_over = width:below(LONG * most):and_(fits(width, most):not_())
  for _, pixels in ipairs(BESIDE[most] or {}) do
    tile(out:specialize(width:at_least(pixels):and_(left_over):and_(fits(width, pixels))), pixels)
  end
  local pixels = most
  while pixels > 2 do
    tile(out:specialize(width:at_least(pixels)), pixels)
    pixels = pixels > 4 and math.max(pixels // 2, 4) or 1
  end
  tile(out, 1)
end

-- A sum over channels and window, in tiles of registers.
--
--   for n, h, w, o: out = f(sum over r, s, c of x * weight)
--     ->
--   parallel job (a panel of channels, a band of rows)
--     pad = the band of x with its padding
--     for row of the band, tile of pixels, part of the panel
--       acc in registers = 0
--       for r, s, c: acc += pad * weight     -- pixels x columns independent sums
--       out tile = f(acc)
--
-- out, acc   the result, and the Func that sums        pad    the image with its padding, or nil
-- rank       loops of out                              panel  channels of a panel of the weights
-- width      pixels of a row, a number where it is known
-- sums       loops of the sum, channels first
-- narrow     x has few channels: they are unrolled
-- planes     x lies channel by channel in memory
-- band       rows of the image in a task; of two loops, task: tiles in a task, and block: tasks whose rows of x stay in L2
-- pixels     of a register tile at most; 0: what suits the registers
function windows.product(target, out, acc, o)
  local lanes = target:lanes "f32"
  local wide = target.vector_registers >= 32
  local columns = math.min(wide and o.panel or 2 * lanes, o.panel)
  local vectors = math.max(columns // lanes, 1)
  if columns < lanes then lanes = columns end
  local most = (o.pixels or 0) > 0 and o.pixels or wide and math.min(28 // vectors, 14) or 6
  by_width(out, o, most, function(stage, pixels)
    local panel, channel = stage:split("x0", o.panel, "guard", "panel", "channel")
    local part, col = stage:split(channel, columns, "guard", "part", "col")
    local tiles, pixel = stage:split("x1", pixels, pixels > 1 and "shift_inwards" or "auto", "tile", "pixel")
    outer(stage, o, { col, pixel, part }, tiles, panel)
    stage:vectorize(col, lanes, "guard"):unroll(col):unroll(pixel)
  end)
  local around = {}
  for i = 2, #o.sums do around[i - 1] = o.sums[i] end
  gemm.in_registers(acc, out, "part", {
    col = "x0", row = "x1", columns = columns, lanes = lanes, k = o.sums[1], around = around, panel = o.panel, ahead = not o.narrow,
  })
  if o.narrow then acc:update(0):unroll(o.sums[1]) end
  if o.pad then
    o.pad:compute_at(out, "job")
    if o.planes then -- each channel lies by itself, as it does in x
      local order = { "x1" }
      for d = 2, o.rank - 1 do table.insert(order, "x" .. d) end
      table.insert(order, "x0")
      o.pad:reorder(table.unpack(order)):reorder_storage(table.unpack(order)):vectorize("x1", lanes, "guard")
    elseif o.narrow then
      o.pad:unroll "x0"
    else
      o.pad:vectorize("x0", lanes, "guard")
    end
  end
end

-- A window for each channel: channels in the lanes, some pixels of some rows in registers.
--
--   parallel job (a band of rows)
--     pad = the band of x with its padding, for large windows
--     for part of the channels, strip of rows, tile of pixels: acc in registers; out tile = f(acc)
function windows.of_channels(target, out, acc, o)
  local lanes = target:lanes "f32"
  local tall = o.rank > 2 and target.vector_registers >= 32 and 2 or 1
  local function tile(stage, pixels, rows, tail, width)
    local part, c = stage:split("x0", width, tail, "part", "lane")
    local tiles, pixel = stage:split("x1", pixels, pixels > 1 and "shift_inwards" or "auto", "tile", "pixel")
    local order, jobs
    if o.rank > 2 then
      local strips, line = stage:split("x2", rows, rows > 1 and "shift_inwards" or "auto", "strip", "line")
      local band, strip = stage:split(strips, o.band // rows, "guard", "band", "strip_in_band")
      order = { c, pixel, line, tiles, strip, part, band }
      jobs = { band }
      stage:unroll(line)
    else
      local task, step = stage:split(tiles, o.task, "guard", "task", "step")
      order = { c, pixel, step, part, task }
      jobs = { task }
    end
    for d = 3, o.rank - 1 do
      table.insert(order, "x" .. d)
      table.insert(jobs, "x" .. d)
    end
    stage:reorder(table.unpack(order))
    local job = jobs[1]
    for i = 2, #jobs do job = stage:fuse(job, jobs[i], "jobs" .. i) end
    stage:rename(job, "job")
    stage:parallel "job"
    stage:vectorize(c):unroll(pixel)
  end
  local pixels = pixels_of((o.pixels or 0) > 0 and o.pixels or 4, o.width)
  local channels = out:dim(0):extent()
  -- Channels that fill half a vector have that for one.
  local widths = { lanes, lanes // 2 }
  for _, width in ipairs(widths) do
    local whole = channels:at_least(width):and_(out:dim(1):extent():at_least(pixels))
    if o.rank > 2 then
      local height = out:dim(2):extent()
      if tall > 1 and o.taps > 9 then -- three rows are one strip, of which two strips would compute one row twice
        tile(out:specialize(whole:and_(height:at_least(3)):and_(height:below(4))), pixels, 3, "shift_inwards", width)
      end
      whole = whole:and_(height:at_least(tall))
    end
    tile(out:specialize(whole), pixels, tall, "shift_inwards", width)
  end
  tile(out, 1, 1, "guard", lanes)
  acc:compute_at(out, "tile"):store_in "stack"
  if o.rank == 2 then acc:compute_at(out, "step") end
  local update = acc:update(0)
  -- Which rows of the window lie in the image is asked once a row, outside of its columns.
  local order = { "x0", "x1", o.sums[1] }
  if o.rank > 2 then table.insert(order, "x2") end
  for i = 2, #o.sums do table.insert(order, o.sums[i]) end
  update:reorder(table.unpack(order))
  if o.taps <= 25 then
    for _, loop in ipairs(o.sums) do update:unroll(loop) end
  end
  for _, stage in ipairs { acc, update } do
    stage:unroll "x1"
    if o.rank > 2 then stage:unroll "x2" end
    stage:specialize(channels:below(lanes)):vectorize("x0", lanes // 2, "guard")
    stage:vectorize("x0", lanes, "guard")
  end
  -- Windows of 3x3 read the image as it is, and ask what lies outside; the copy would take as long as the sums. Larger ones gain by it.
  if o.pad and o.taps > 9 then
    o.pad:compute_at(out, "job"):vectorize("x0", lanes, "guard")
  else
    out:never_partition_all()
  end
end

return windows
