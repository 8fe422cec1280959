-- Schedules for GPUs: rows of a matrix over blocks, columns over threads.

local attention = require "lib.attention"

local gpu = {}

local bytes_of = { f32 = 4, i32 = 4, f16 = 2, bf16 = 2, i8 = 1, u8 = 1 }

-- Cuts a loop for the threads of a block: a thread has neighbouring vectors, `unroll` of them in flight.
--
--   for col
--     ->
--   for chunk: threads thread: unrolled step: vectorized lane      -- col = ((chunk * unroll + step) * threads + thread)
--                                                                  --       * vector + lane
--
-- Where there are loops around, its vectors and theirs count on in one loop, so that short ones fill a block too:
--
--   for h: for w
--     ->
--   for chunk: threads thread: unrolled step: vectorized lane
--                                          -- number of the vector in all h = (chunk * unroll + step) * threads + thread
local function over_threads(stage, loop, o)
  if o.around then
    stage:split(loop, o.vector, "guard", "vector", "lane")
    loop = gpu.fuse(stage, { "vector", table.unpack(o.around) })
    stage:split(loop, o.threads * o.unroll, "guard", "chunk", "in_chunk")
    stage:split("in_chunk", o.threads, "guard", "step", "thread")
    return
  end
  stage:split(loop, o.threads * o.vector * o.unroll, "guard", "chunk", "in_chunk")
  stage:split("in_chunk", o.threads * o.vector, "guard", "step", "in_step")
  stage:split("in_step", o.vector, "guard", "thread", "lane")
end

local function in_registers(stage)
  stage:vectorize("lane"):unroll("step")
  stage:never_partition("chunk", "step", "lane")
end

-- What the schedules of rows tune. With threads = 0 they follow from the columns of a call, and unroll, held and resident with them.
gpu.row_params = {
  threads = tune { 0, 32, 64, 128, 256, 384, 512, 1024, default = 0 },
  vector  = tune { 2, 4, 8, default = 8 }, -- columns a thread handles at once
  unroll  = tune { 1, 2, 3, 4, 8, default = 2 }, -- of which so many are in flight
  held    = tune { "registers", "shared", default = "registers" }, -- where a row is kept between its stages
  resident = tune { 0, 1, 2, 3, 4, default = 0 }, -- blocks on a multiprocessor for which there are to be registers, if not 0
}

-- The versions of a schedule of rows of x. Short rows are held in registers; longer ones in shared memory, of which a block of any
-- device from sm_80 on has 96 KiB; what does not fit there is read again.
--
-- sums      whether rows of x + residual are what is held
function gpu.row_versions(x, p, sums)
  if p.threads > 0 then return { {} } end
  local cols, kib = x:dim(0):extent(), 1024 // bytes_of[x:type()]
  return {
    { when = cols:at_most(1024), threads = 128, unroll = 1, held = "registers", resident = 0 },
    { when = cols:at_most(sums and 4096 or 6144), threads = 128, unroll = 2, held = "registers", resident = 0 },
    { when = cols:at_most(28 * kib), threads = 256, unroll = 2, held = "shared", resident = 0 },
    { when = cols:at_most(96 * kib), threads = 512, unroll = 2, held = "shared", resident = 3 },
    { threads = 1024, unroll = 4, held = "registers", resident = 0 },
  }
end

-- What versions set, the caller does not.
function gpu.row_params_fit(p)
  return p.threads > 0 or (p.unroll == 2 and p.held == "registers" and p.resident == 0)
end

-- The options of the helpers below, for rows of y. Rows held in shared memory have to fit there.
function gpu.row_options(y, p)
  return {
    at = { y, "row" }, threads = p.threads, vector = p.vector, unroll = p.unroll, held = p.held, resident = p.resident,
  }
end

-- Has a block handle a row, its threads neighbouring vectors of columns.
--
--   for row: for col: y
--     ->
--   blocks row
--     threads thread
--       for chunk: unrolled step
--         y[row][((chunk * unroll + step) * threads + thread) * vector ...]        -- a vector at once
--
-- y       a Func over [col, row]       threads, vector    how many, and of how many columns
--
-- Accesses of `vector` elements are 16 bytes where possible: 8 of a half type, 4 of f32.
function gpu.row_blocks(y, o)
  over_threads(y, "col", o)
  gpu.blocks_of_rows(y, { "lane", "step", "chunk", "thread" }, o)
  y:gpu_threads("thread")
  in_registers(y)
end

-- The loop over rows alone, around the `inner` ones: blocks.
function gpu.blocks_of_rows(y, inner, o)
  local loops = { table.unpack(inner) }
  table.insert(loops, "row")
  if (o.resident or 0) > 0 then y:resident(o.resident) end
  if #loops > 1 then y:reorder(table.unpack(loops)) end
  y:gpu_blocks "row"
end

-- Holds rows of inputs in shared memory, where all of a row is under way together.
--
-- Blocks that take row after row and fetch the next ahead do not help here, since all threads of a block wait at its barriers.
--
--   stages of a row, each of which reads x
--     ->
--   fetch x; stages of a row, each of which reads it from shared memory
--
-- input       a Func over [col, row]
function gpu.hold_rows(input, o)
  if o.held ~= "shared" then return end
  gpu.rows_in_shared(input, "_0", "_1", o)
  input:fetch(0)
end

-- Keeps rows of a Func in shared memory: what several inputs are added up to, which none of the stages then reads again.
function gpu.rows_in_shared(func, col, row, o)
  func:compute_at(o.at[1], o.at[2]):store_in "gpu_shared":bound_extent(row, 1):align_storage(col, o.vector)
  over_threads(func, col, o)
  func:reorder("lane", "step", "chunk", "thread"):gpu_threads "thread"
  in_registers(func)
end

-- The same where a block has several loops: a group of channels, an image.
--
--   for n: for group: for channel: for h: for w: y
--     ->
--   blocks group, n
--     threads thread: for chunk: unrolled step: y             -- vectors of w, of all h and channels
--
-- loop, around    those of a block, innermost first            blocks    the others
function gpu.group_blocks(y, o)
  over_threads(y, o.loop, o)
  y:reorder("lane", "step", "chunk", "thread", table.unpack(o.blocks))
  gpu.over_blocks(y, o.blocks)
  y:gpu_threads("thread")
  in_registers(y)
end

-- The same where several blocks share such a group: each has a chunk of its vectors.
--
--   blocks chunk, group, n
--     threads thread: unrolled step: y
function gpu.parts_of_groups(y, o)
  over_threads(y, o.loop, o)
  y:reorder("lane", "step", "thread", "chunk", table.unpack(o.blocks))
  gpu.over_blocks(y, { "chunk", table.unpack(o.blocks) })
  y:gpu_threads("thread")
  y:vectorize("lane"):unroll("step")
  y:never_partition("step", "lane")
end

-- Spreads loops over blocks, innermost first, and returns the innermost loop of blocks. There are three at most, so the outer
-- ones become pairs; of three fused loops Halide 21 does not see any more that a block has one iteration of each.
function gpu.over_blocks(stage, loops)
  local blocks, at = {}, 1
  for left = 3, 1, -1 do
    local n = math.min(math.max((#loops - at + 1) // left, 1), left == 1 and #loops or 2)
    if at <= #loops then table.insert(blocks, gpu.fuse(stage, { table.unpack(loops, at, at + n - 1) })) end
    at = at + n
  end
  stage:gpu_blocks(blocks)
  return blocks[1]
end

-- Reduces a loop in the registers of all threads, then across them by shuffles.
--
--   for col: sum += x(col)
--     ->
--   threads thread: for chunk: unrolled step: part += x(((chunk * unroll + step) * threads + thread) * vector ...)
--   sum = part of all threads                                   -- reduce_threads; each thread has the sum
--
-- func    a Func with one update, which reduces `loop`, and the loops `around` it if there are any
-- at      the Func and the loop in which it is needed: { k.y, "row" }
function gpu.reduce(func, loop, o)
  local update = func:update(0)
  over_threads(update, loop, o)
  local part = update:rfactor("thread", { "of_thread" }):bound_extent("of_thread", o.threads)
  gpu.each_thread(func, o)
  gpu.each_thread(part, o)
  part:gpu_threads "of_thread"
  local sum = part:update(0)
  sum:reorder("lane", "step", "chunk", "of_thread"):gpu_threads("of_thread"):atomic()
  in_registers(sum)
end

-- A number for each row, such as 1 / rms, in a kernel of its own: a block reduces a row.
--
--   for row: value = f(sum over loop)
--     ->
--   blocks row: sum = part of all threads; value = f(sum)
--
-- value   a Func over [row]       sum       the Func with the reduction       loop      its loop
function gpu.row_statistic(value, sum, loop, o)
  value:compute_root():gpu_blocks "row"
  gpu.reduce(sum, loop, { at = { value, "row" }, threads = o.threads, vector = o.vector, unroll = o.unroll })
end

-- Rounds the rows of a matrix, each by a scale of its own, in a kernel of its own: a block has a row.
--
--   for row: peak; for row: for col: q = f(col, row) / peak(row); for row: scale = f(peak(row))
--     ->
--   blocks row
--     peak = part of all threads, and so what else is reduced over the row
--     threads thread: for chunk: unrolled step: q             -- vectors of columns
--     scale
--
-- q, scale    Funcs over [col, row] and over [row]       sums    Funcs that reduce "k" for them       values    others over [row]
function gpu.quantise_rows(q, scale, sums, values, o)
  local rows = { at = { q, "row" }, threads = o.threads, vector = o.vector, unroll = o.unroll }
  gpu.row_blocks(q:compute_root(), rows)
  gpu.blocks_of_rows(scale:compute_root(), {}, rows)
  scale:compute_with(q, "row")
  -- Of the row that a block has: q may have more rows than scale, of which Halide would make a range.
  for _, value in ipairs(values) do
    value:bound_extent("row", 1)
    gpu.each_thread(value, rows)
  end
  for _, sum in ipairs(sums) do
    sum:bound_extent("row", 1)
    gpu.reduce(sum, "k", rows)
  end
end

-- Has every thread compute and keep a value of the row in its registers: no thread waits for another's.
function gpu.each_thread(func, o)
  func:compute_at(o.at[1], o.at[2]):store_in "register"
end

-- The same for a whole Func: a kernel with a block a row, which writes what its threads reduced.
--
--   for row: for col: sum(row) += x(col, row)
--     ->
--   blocks row
--     sum, as above
--
-- rows    the loops that are no reduction, innermost first
function gpu.reduce_rows(func, loop, o)
  local wrapper = func:in_():compute_root()
  gpu.over_blocks(wrapper, o.rows)
  if #o.rows > 3 then
    for _, dim in ipairs(o.rows) do func:bound_extent(dim, 1) end
  end
  gpu.reduce(func, loop, {
    at = { wrapper, o.rows[1] }, around = o.around, threads = o.threads, vector = o.vector, unroll = o.unroll,
  })
end

-- Joins loops, innermost first, into one, and returns its name.
function gpu.fuse(stage, loops)
  local name = loops[1]
  for i = 2, #loops do
    local both = name .. "_" .. loops[i]
    stage:fuse(name, loops[i], both)
    name = both
  end
  return name
end

-- Has a thread compute vectors of neighbouring columns, in several rows at once: a pass over a whole Func.
--
--   for row: for col: y
--     ->
--   blocks tile_row, tile_col            -- lanes * vector columns, threads / lanes * unroll rows
--     threads thread_row, thread
--       unrolled step
--         y[step * (threads / lanes) + thread_row][thread * vector ...]                -- a vector at once
--
-- y       a Func                       col        the loop of neighbours, "col" if nothing is said
-- rows    the other loops, innermost first; several become one
-- around  loops that count on with the vectors of col
-- threads, unroll                      lanes      threads side by side in a row, 32 if nothing is said
-- narrow  the same where a row of the output y has no more vectors, so that all of a warp have something to do
function gpu.vectors(y, o)
  local vector, col = gpu.vector_of(y), o.col or "col"
  local row = gpu.fuse(y, o.rows)
  local function tiles(stage, lanes)
    if o.around then
      stage:split(col, vector, "guard", "vector", "lane")
      stage:split(gpu.fuse(stage, { "vector", table.unpack(o.around) }), lanes, "guard", "tile_col", "thread")
    else
      stage:split(col, lanes * vector, "guard", "tile_col", "in_col")
      stage:split("in_col", vector, "guard", "thread", "lane")
    end
    stage:split(row, o.threads // lanes * o.unroll, "guard", "tile_row", "in_row")
    stage:split("in_row", o.threads // lanes, "guard", "step", "thread_row")
    stage:reorder("lane", "step", "thread", "thread_row", "tile_col", "tile_row")
    stage:gpu_blocks { "tile_col", "tile_row" }:gpu_threads { "thread", "thread_row" }
    stage:vectorize("lane"):unroll("step"):never_partition_all()
  end
  local lanes = o.lanes or 32
  if o.narrow and o.narrow < lanes then
    tiles(y:specialize(y:dim(0):extent():at_most(o.narrow * vector)), o.narrow)
  end
  tiles(y, lanes)
end

-- How many elements of a Func or buffer have 16 bytes, the widest access of a thread; at most 8, since they are f32
-- in registers.
function gpu.vector_of(func)
  return math.min(16 // bytes_of[func:type()], 8)
end

-- Computes a value for each element of its loops, a thread an element: short passes, as over the statistics of rows.
--
--   for row: inv_rms
--     ->
--   blocks row: threads thread
--
-- rows    loops that become one, innermost first        blocks    loops around them
function gpu.elements(func, o)
  local row = gpu.fuse(func, o.rows)
  func:split(row, o.threads, "guard", "tile", "thread")
  gpu.over_blocks(func, { "tile", table.unpack(o.blocks or {}) })
  func:gpu_threads("thread"):never_partition_all()
end

-- Transposes through shared memory: a block reads a tile by its columns and stores it by its rows.
--
--   for n: for col: for row: y[n][col][row] = f(t[n][col][row])            -- t[n][col][row] = x[n][row][col]
--     ->
--   blocks n, tile_col, tile_row
--     threads: t[col of the tile][row of the tile] = x, in shared memory             -- vectors along the columns
--     threads: y = f(t)                                                              -- vectors along the rows
--
-- y        a Func over [row, col, n]    t        the Func it transposes
-- tile     rows and columns             threads  of a block
-- loops    how row, col and others are called, if they are not "row", "col" and { "n" }
--
-- A column of the tile is followed by a gap of 4 bytes, so that threads that go along a row meet different banks.
function gpu.transposed(y, t, o, loops)
  local names = loops or { row = "row", col = "col", others = { "n" } }
  local row, col, others = names.row, names.col, names.others
  local vector = gpu.vector_of(t)
  local across = o.tile // vector
  local function spread(stage, along, other)
    stage:split(along, vector, "guard", "thread", "lane")
    stage:split(other, o.threads // across, "guard", "step", "thread_y")
    stage:reorder("lane", "step", "thread", "thread_y")
    stage:gpu_threads { "thread", "thread_y" }
    stage:vectorize("lane"):unroll("step"):never_partition_all()
  end
  y:split(row, o.tile, "guard", "tile_row", "in_row")
  y:split(col, o.tile, "guard", "tile_col", "in_col")
  y:reorder("in_row", "in_col", "tile_row", "tile_col", table.unpack(others))
  gpu.over_blocks(y, { "tile_row", "tile_col", table.unpack(others) })
  spread(y, "in_row", "in_col")
  t:compute_at(y, "tile_row"):store_in "gpu_shared"
  t:bound_storage(row, o.tile + 4 // bytes_of[t:type()]):bound_storage(col, o.tile)
  for _, dim in ipairs(others) do t:bound_storage(dim, 1) end
  spread(t, col, row)
end

-- Sums the windows of a depthwise convolution in tiles of registers: a thread has some pixels by a vector of channels.
--
--   for n: for h: for w: for c: y = f(sum over r, s of x * weight)
--     ->
--   blocks of channels, of pixels of a row, (strip of rows, n)
--     threads thread (channels), thread_tile (pixels)
--       acc in registers = 0
--       for r: for s: acc += x * weight          -- rows x pixels vectors
--       y tile = f(acc)
--
-- y        a Func over [c, w, h, n]        vector     channels of a thread      lanes   threads along the channels
-- pixels, rows    of a thread's tile       threads    of a block
-- narrow   lanes where y has no more vectors of channels
-- column, row    the loops over the columns and rows of a window, if not "tap_x" and "tap_y"
--
-- A tile that sticks out of y is moved back into it; what is smaller than a tile is done one by one. For each row of a window a
-- thread keeps the pixels that its windows share, in f32. H200, 64x28x28x512, one run: 54.8 us; with every tap loaded and converted
-- for itself 92.1, of 57 million instructions for 36; 2 pixels 75.6, 7 pixels 60.8, taps of a row not unrolled 59.3, threads that
-- are neighbours along the rows, too, 68.9, 256 threads 55.0. (With all taps unrolled a thread has 222 registers: 110 in a run
-- with 71 for the loops.)
function gpu.window_tiles(k, y, o)
  local function tile(stage, vector, pixels, rows, lanes)
    local function tail(size) return size > 1 and "shift_inwards" or "auto" end
    stage:split("c", vector, tail(vector), "vector", "lane")
    stage:split("w", pixels, tail(pixels), "tile", "pixel")
    stage:split("h", rows, tail(rows), "strip", "line")
    stage:split("vector", lanes, "guard", "part", "thread")
    stage:split("tile", o.threads // lanes, "guard", "tiles", "thread_tile")
    stage:reorder("lane", "pixel", "line", "thread", "thread_tile", "part", "tiles", "strip", "n")
    stage:gpu_blocks { "part", "tiles", gpu.fuse(stage, { "strip", "n" }) }:gpu_threads { "thread", "thread_tile" }
    stage:vectorize("lane"):unroll("pixel"):unroll("line"):never_partition_all()
  end
  local function size(d) return k.y:dim(d):extent() end
  local function whole() return size(0):at_least(o.vector):and_(size(1):at_least(o.pixels)):and_(size(2):at_least(o.rows)) end
  if o.narrow and o.narrow < o.lanes then
    tile(y:specialize(whole():and_(size(0):at_most(o.narrow * o.vector))), o.vector, o.pixels, o.rows, o.narrow)
  end
  tile(y:specialize(whole()), o.vector, o.pixels, o.rows, o.lanes)
  tile(y, 1, 1, 1, o.lanes)

  k.acc:compute_at(y, "thread"):store_in "register"
  local column, row = o.column or "tap_x", o.row or "tap_y"
  k.acc:update(0):reorder("c", "w", "h", column, row)
  if k:has "x_near" then
    k.x_near:compute_at(k.acc, row):store_in "register":vectorize("c", o.vector, "guard"):unroll("w"):unroll("h"):never_partition_all()
    k.acc:update(0):unroll(column)
  end
  for _, stage in ipairs { k.acc, k.acc:update(0) } do
    stage:vectorize("c", o.vector, "guard"):unroll("w"):unroll("h"):never_partition_all()
  end
end

-- Computes what the zero point of a depthwise convolution makes of each channel, where it has one, in a small kernel.
function gpu.sums_of_channels(k, threads)
  if not k:has "zero_sum" then return end
  local sums = k.zero_sum:in_():compute_root()
  gpu.elements(sums, { rows = { "c" }, threads = threads })
  k.zero_sum:compute_at(sums, "thread"):store_in "register":bound_extent("c", 1)
end

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
-- A tile that sticks out of its row is moved back; rows of fewer pixels are done one by one.
function gpu.conv_tiles(k, y, o)
  local channels = 8
  local function tile(stage, pixels)
    stage:split("o", channels, "guard", "part", "channel")
    stage:split("part", o.panel // channels, "guard", "panel", "thread")
    stage:split("w", pixels, pixels > 1 and "shift_inwards" or "auto", "tile", "pixel")
    stage:split("tile", o.tiles, "guard", "tiles", "thread_tile")
    stage:reorder("channel", "pixel", "thread", "thread_tile", "panel", "tiles", "h", "g", "n")
    stage:gpu_blocks { gpu.fuse(stage, { "panel", "tiles" }), "h", gpu.fuse(stage, { "g", "n" }) }
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

-- Tiles of up to so many rows are for products that only have as many: all that takes time is to read the other matrix. The
-- warps of a block then share the depth of a step, twice that of other tiles, and add up their sums in the end.
gpu.skinny = 32

-- Whether the shared memory of a block on Hopper has room for the stages of tensor_tiles, of which each takes 128 bytes of
-- a row or column, and for a part of the tile on its way out: 128 bytes a row at least. For `where`.
--
-- p       rows, columns, stages        products  that share the rows        ping_pong   as there
function gpu.tiles_fit(p, o)
  if p.rows <= gpu.skinny then
    local part = p.rows * (p.columns + 8) * 4 * 8 -- the sums of 8 warps, in place of the stages in the end
    return p.rows * p.columns * o.products <= 4096 and o.products * part <= 226 * 1024 and
      p.stages * 256 * (p.rows + o.products * p.columns) <= 226 * 1024
  end
  if o.ping_pong and p.rows ~= 64 then return false end
  local rows_of_results = o.ping_pong and 128 or p.rows
  return p.stages * 128 * (p.rows + o.products * p.columns) + 128 * rows_of_results <= 226 * 1024
end

-- Has the tensor cores compute a tile of a product in a block, and what is made of it where the sums are.
--
--   for row: for col: y = f(sum over k of a * b)
--     ->
--   blocks tile
--     acc = 0, in registers
--     for step: fetch tiles of a and b | acc += a * b             -- a warp fetches `stages` steps ahead
--     y = f(acc)
--
-- y       a Func over [col, row]       acc       the Func that sums over "k", or several that read the same a
-- rows    of a tile: 64, 128 or 192    columns   a multiple of 64, up to 256 for all products together
--         16 or 32: few rows           columns   a multiple of 16; 32 or a multiple of 64 where they are neighbours in memory
-- stages  of the pipeline              raster    rows of tiles that blocks take together
-- more    cluster: blocks that share the steps of a tile (1)
--         operand_bytes: of an element of a and b; 4 for float32 that is cut to TF32 (1 where sums are integers, else 2)
--         ping_pong: two warpgroups have a tile of 64 rows each, and take turns to multiply (sm_90a)
--         col: the loop over columns ("col")
function gpu.tensor_tiles(y, acc, o, more)
  more = more or {}
  gpu.blocks_of_tiles(y, o, more)
  for _, sum in ipairs(type(acc) == "table" and acc or { acc }) do
    gpu.tensor_sums(sum, { y, "tile_col" }, o, more)
    if more.cluster then sum:update(0):split_k_cluster(more.cluster) end
  end
end

-- A block for each tile of a stage.
function gpu.blocks_of_tiles(stage, o, more)
  stage:split(more.col or "col", o.columns, "guard", "tile_col", "col_in_tile")
  stage:split("row", o.rows, "guard", "tile_row", "row_in_tile")
  stage:reorder("col_in_tile", "row_in_tile", "tile_col", "tile_row")
  stage:gpu_blocks { "tile_col", "tile_row" }
  stage:never_partition_all()
end

-- What tensor_windows() leaves open; 0 is for all sizes of a call.
gpu.window_params = {
  -- A box of 64, 128 or 192 pixels: what sticks out of images and batch is computed in vain.
  tile_w  = tune { 0, 1, 2, 4, 8, 16, default = 0 },
  tile_h  = tune { 0, 1, 2, 4, 8, 16, default = 0 },
  tile_n  = tune { 0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 48, default = 0 },
  columns = tune { 0, 64, 128, 256, default = 0 }, -- channels of y
  stages  = tune { 2, 3, 4, 5, 6, default = 4 },   -- fetched ahead; a stage takes 128 (pixels + columns) bytes
  raster  = tune { 1, 4, 8, 16, default = 4 },     -- boxes taken together
}

-- The boxes that a call has the choice of: for many images and for few. The columns: for few channels and for many.
local function boxes_of(p)
  return p.tile_n > 0 and { { w = p.tile_w, h = p.tile_h, n = p.tile_n } } or { { w = 2, h = 2, n = 32 }, { w = 8, h = 8, n = 2 } }
end

local function columns_of(p)
  return p.columns > 0 and { p.columns } or { 64, 128 }
end

-- Of a box all is given or nothing; shared memory has the stages, and the tile on its way out.
function gpu.windows_fit(p)
  local given = (p.tile_w > 0 and 1 or 0) + (p.tile_h > 0 and 1 or 0) + (p.tile_n > 0 and 1 or 0)
  if given % 3 ~= 0 then return false end
  for _, box in ipairs(boxes_of(p)) do
    local pixels = box.w * box.h * box.n
    for _, columns in ipairs(columns_of(p)) do
      if pixels % 64 ~= 0 or pixels > 192 or pixels * columns > 128 * 256
        or p.stages * 128 * (pixels + columns) + 2 * pixels * columns >= 225 * 1024 then
        return false
      end
    end
  end
  return true
end

-- Has the tensor cores sum a tile of a product over "k", for what a block makes of it at a loop.
--
-- sum     a Func over [col, row, others]        at      the Func and the loop
-- o       rows, columns, stages and raster, as above
-- more    col, ping_pong, operand_bytes: as above    row: the loop over rows ("row")    others: dimensions of which a block has one
function gpu.tensor_sums(sum, at, o, more)
  local col, row, others = more.col or "col", more.row or "row", more.others or {}
  sum:compute_at(at[1], at[2]):store_in "register"
  sum:bound_extent(col, o.columns):bound_extent(row, o.rows):never_partition_all()
  for _, dim in ipairs(others) do sum:bound_extent(dim, 1) end
  sum:reorder_storage(col, row, table.unpack(others)):reorder(col, row, table.unpack(others))
  local step = sum:update(0)
  local depth = 128 // (more.operand_bytes or (sum:type() == "i32" and 1 or 2))
  step:split("k", type(o.rows) == "number" and o.rows <= gpu.skinny and 2 * depth or depth, "guard", "step", "depth")
  local order = { "depth", col, row, table.unpack(others) }
  table.insert(order, "step")
  step:reorder(table.unpack(order)):never_partition_all()
  step:mma():pipeline(o.stages, o.raster, more.ping_pong)
end

-- Has the tensor cores convolve: a block has a box of pixels, which are the rows of a product, and what is made of it where the
-- sums are.
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
-- Where the box or the columns are 0, there is a kernel for each that pays, of which a call takes one: for up to 64 channels of
-- y and for more, for 25 images and for fewer. Boxes of many images and few pixels hardly stick out: of 28 x 28 pixels 4 x 4
-- boxes of 8 x 8 compute a fourth in vain.
function gpu.tensor_windows(y, acc, o)
  local boxes, columns = boxes_of(o), columns_of(o)
  local many_images, few_channels = y:dim(4):extent():at_least(25), y:dim(0):extent():at_most(64)
  local function tiles(stage, box, across)
    stage:split("o", across, "guard", "tile_o", "o_in_tile")
    for _, d in ipairs { "w", "h", "n" } do stage:split(d, box[d], "guard", "box_" .. d, d .. "_in_box") end
    stage:reorder("o_in_tile", "w_in_box", "h_in_box", "n_in_box", "tile_o", "box_w", "box_h", "box_n", "g")
    stage:gpu_blocks { "tile_o", gpu.fuse(stage, { "box_w", "box_h", "box_n", "g" }) }
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

-- Has a block keep a strip of queries, and go over the keys block by block, with both products of attention on the tensor
-- cores.
--
--   for n, h: for query: out = f(sum over keys of weights(scores(q, k)) * v)
--     ->
--   blocks n, h, strip
--     acc, with the maximum and the sum so far = 0, in registers
--     for block of keys: fetch k and v                           -- a warp fetches `stages` blocks ahead
--       scores = q k
--       block_max, p, block_sum, weights of the block, in registers
--       acc = acc * g + weights v
--     out = acc * inv_sum
--
-- k                        the Funcs of the generator attention, with softmax = "rescaled"
-- query_block, key_block   queries of a strip, keys of a block         head_dim   a constant
-- raster                   heads that are taken together
-- ping_pong                one half of a block multiplies while the other computes
function gpu.attention_tiles(k, o)
  attention.fix_head_dim(k, o.head_dim)
  k.out:split("query", o.query_block, "guard", "strip", "row")
  k.out:reorder("d", "row", "strip", "h", "n"):gpu_blocks { "strip", "h", "n" }:never_partition_all()
  k.inv_sum:compute_at(k.out, "strip"):store_in "register"
  k.acc:compute_at(k.out, "strip"):store_in "register":bound_extent("d", o.head_dim):bound_extent("i", o.query_block)
  k.acc:update(0):reorder("d", "i", "block"):never_partition_all()
  for _, func in ipairs { k.scores, k.raw_max, k.block_max, k.p, k.block_sum, k.weights, k.pv } do
    func:compute_at(k.acc, "block"):store_in "register":bound_extent("i", o.query_block):never_partition_all()
    for _, one in ipairs { "kb", "ib", "h", "n" } do func:bound_extent(one, 1) end
  end
  for _, func in ipairs { k.scores, k.p, k.weights } do func:bound_extent("j", o.key_block) end
  k.pv:bound_extent("d", o.head_dim)
  k.scores:update(0):reorder("depth", "j", "i"):never_partition_all():mma():pipeline(o.stages, o.raster, o.ping_pong)
  for _, func in ipairs { k.raw_max, k.block_sum } do func:update(0):reorder("key", "i"):never_partition_all() end
  k.pv:update(0):reorder("key", "d", "i"):never_partition_all():mma()
end

return gpu
