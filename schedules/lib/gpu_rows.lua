-- Rows of a matrix on a GPU: a block has a row, its threads have neighbouring vectors of columns.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

local rows = {}

-- What the schedules of rows tune. With threads = 0, the columns of a call decide on threads, unroll, held and resident.
rows.params = {
  threads = tune { 0, 32, 64, 128, 256, 384, 512, 1024, default = 0 },
  vector  = tune { 2, 4, 8, default = 8 }, -- columns a thread handles at once
  unroll  = tune { 1, 2, 3, 4, 8, default = 2 }, -- vectors of a thread in flight
  held    = tune { "registers", "shared", default = "registers" }, -- where a row is kept between its stages
  resident = tune { 0, 1, 2, 3, 4, default = 0 }, -- blocks on a multiprocessor for which there are to be registers, if not 0
}

-- The versions of a schedule of rows of x. Short rows are held in registers, longer ones in shared memory, of which a block of any
-- device from sm_80 on has 96 KiB. Rows that do not fit there are read again.
--
-- sums      whether rows of x + residual are what is held
function rows.versions(x, p, sums)
  if p.threads > 0 then return { {} } end
  local cols, kib = x:dim(0):extent(), 1024 // grid.bytes_of[x:type()]
  return {
    { when = cols:at_most(1024), threads = 128, unroll = 1, held = "registers", resident = 0 },
    { when = cols:at_most(sums and 4096 or 6144), threads = 128, unroll = 2, held = "registers", resident = 0 },
    { when = cols:at_most(28 * kib), threads = 256, unroll = 2, held = "shared", resident = 0 },
    { when = cols:at_most(96 * kib), threads = 512, unroll = 2, held = "shared", resident = 3 },
    { threads = 1024, unroll = 4, held = "registers", resident = 0 },
  }
end

-- What versions set, the caller does not.
function rows.params_fit(p)
  return p.threads > 0 or (p.unroll == 2 and p.held == "registers" and p.resident == 0)
end

-- The options of the helpers below, for rows of y. Rows held in shared memory have to fit there.
function rows.options(y, p)
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
function rows.blocks(y, o)
  grid.over_threads(y, "col", o)
  rows.blocks_around(y, { "lane", "step", "chunk", "thread" }, o)
  y:gpu_threads("thread")
  grid.in_registers(y)
end

-- Has a block handle a row, whatever the `inner` loops of a row are.
function rows.blocks_around(y, inner, o)
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
function rows.hold(input, o)
  if o.held ~= "shared" then return end
  rows.in_shared(input, "_0", "_1", o)
  input:fetch(0)
end

-- Keeps rows of a Func in shared memory: the sum of several inputs, so that no later stage reads them again.
function rows.in_shared(func, col, row, o)
  func:compute_at(o.at[1], o.at[2]):store_in "gpu_shared":bound_extent(row, 1):align_storage(col, o.vector)
  grid.over_threads(func, col, o)
  func:reorder("lane", "step", "chunk", "thread"):gpu_threads "thread"
  grid.in_registers(func)
end

-- Has a block handle several loops, as those of a group of channels or of an image.
--
--   for n: for group: for channel: for h: for w: y
--     ->
--   blocks group, n
--     threads thread: for chunk: unrolled step: y             -- vectors of w, of all h and channels
--
-- loop, around    those of a block, innermost first            blocks    the others
function rows.group_blocks(y, o)
  grid.over_threads(y, o.loop, o)
  y:reorder("lane", "step", "chunk", "thread", table.unpack(o.blocks))
  grid.over_blocks(y, o.blocks)
  y:gpu_threads("thread")
  grid.in_registers(y)
end

-- Has several blocks share such a group: each has a chunk of its vectors.
--
--   blocks chunk, group, n
--     threads thread: unrolled step: y
function rows.parts_of_groups(y, o)
  grid.over_threads(y, o.loop, o)
  y:reorder("lane", "step", "thread", "chunk", table.unpack(o.blocks))
  grid.over_blocks(y, { "chunk", table.unpack(o.blocks) })
  y:gpu_threads("thread")
  y:vectorize("lane"):unroll("step")
  y:never_partition("step", "lane")
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
function rows.quantise(q, scale, sums, values, o)
  local of_row = { at = { q, "row" }, threads = o.threads, vector = o.vector, unroll = o.unroll }
  rows.blocks(q:compute_root(), of_row)
  rows.blocks_around(scale:compute_root(), {}, of_row)
  scale:compute_with(q, "row")
  -- One row each, the one that the block has: q may have more rows than scale, and Halide would make a range of them.
  for _, value in ipairs(values) do
    value:bound_extent("row", 1)
    grid.each_thread(value, of_row)
  end
  for _, sum in ipairs(sums) do
    sum:bound_extent("row", 1)
    reduce.in_block(sum, "k", of_row)
  end
end

return rows
