-- Rows of a matrix on a GPU: a block has a row, or several short ones, whose threads have neighbouring vectors of columns.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

local rows = {}

-- What the schedules of rows tune. With threads = 0, the columns of a call decide on threads, block_rows, unroll, held and resident.
rows.params = {
  threads = tune { 0, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 1024, default = 0 }, -- that share a row
  block_rows = tune { 1, 4, 8, 16, 32, 64, default = 1 }, -- rows of a block; several are for rows that a warp or less shares
  vector  = tune { 1, 2, 4, 8, default = 8 }, -- columns a thread handles at once
  unroll  = tune { 1, 2, 3, 4, 8, default = 2 }, -- vectors of a thread in flight
  held    = tune { "registers", "shared", default = "registers" }, -- where a row is kept between its stages
  resident = tune { 0, 1, 2, 3, 4, default = 0 }, -- blocks on a multiprocessor for which there are to be registers, if not 0
  invariant = grid.invariant, -- a row's result is the same bits for any number of rows
}

-- A version for rows of up to `most` columns.
local function version(most, threads, o)
  return {
    most = most, threads = threads, block_rows = o.rows or 1, vector = o.vector or 8, unroll = o.unroll or 1, held = o.held or "registers",
    resident = o.resident or 0,
  }
end

-- Rows that are no multiple of a vector begin at any address. Neighbouring threads then have neighbouring columns.
local function of_any_length(bytes)
  local kib = 1024 // bytes
  return {
    version(128, 16, { rows = 8, vector = 1, unroll = 8 }),
    version(2 * kib, 32, { rows = 4, vector = 1 }),
    version(6144, 128, { vector = 1 }),
    version(96 * kib, 1024, { vector = 1, unroll = 4, held = "shared" }),
    version(nil, 1024, { vector = 1, unroll = 4 }),
  }
end

-- Where there are few rows, latency counts: the threads of a block have all of a row under way at once.
local function of_few(vector)
  if vector == 1 then return { version(4096, 1024, { vector = 1, unroll = 4 }) } end
  return {
    version(2048, 256, { vector = vector, unroll = 8 // vector }),
    version(4096, 256, { vector = vector, unroll = 16 // vector }),
    version(8192, 512, { vector = vector, unroll = 16 // vector }),
  }
end

-- A few lanes share a short row, and a block has many of them, so that all threads load at once. Longer rows have a block each, and are
-- held in registers, or in shared memory, of which a block of any device from sm_80 on has 96 KiB. Longer ones yet are read again.
--
-- vector    elements of 16 bytes, 8 at most        sums, a_row_each, scales    as of rows.versions
local function of_vectors(bytes, vector, more)
  local kib, list = 1024 // bytes, {}
  local function add(most, threads, o) -- o.columns: of a thread in flight
    table.insert(list, version(most, threads, {
      rows = o.rows, vector = vector, unroll = o.columns // vector, held = o.held, resident = o.resident,
    }))
  end
  for _, columns in ipairs { 16, 32, 64, 128, 256, 512 } do
    local threads = columns // vector
    if not more.a_row_each then
      threads = math.min(threads, 32)
      add(columns, threads, { rows = 128 // threads, columns = columns // threads })
    elseif threads >= 32 then
      add(columns, threads, { columns = vector })
    end
  end
  if not more.a_row_each and vector == 8 then add(768, 32, { rows = 8, columns = 24 }) end
  add(1024, 128, { columns = 8 })
  if more.scales then -- one more pass over the row: what counts is that few threads wait for each other
    add(32 * kib, 128, { columns = 32 })
    add(96 * kib, 256, { columns = 32 })
    add(nil, 1024, { columns = 32 })
    return list
  end
  add(more.sums and 4096 or 6144, 128, { columns = 16 })
  add(28 * kib, 256, { columns = 16, held = "shared" })
  add(96 * kib, 512, { columns = 16, held = "shared", resident = 3 })
  add(nil, 1024, { columns = 32 })
  return list
end

-- The versions of a schedule of rows of x. Where each takes over was measured (docs/notes/2026-11-row-versions.md).
--
-- y         the output
-- more      sums: rows of x + residual are what is held; a_row_each: a block has to have one row; scales: as own_scales() has them
function rows.versions(x, y, p, target, more)
  if p.threads > 0 then
    -- The last block has the last rows. A row alone has a warp, which adds up as fewer threads do not.
    if p.block_rows == 1 or p.invariant and p.threads < 32 then return { {} } end
    return { { when = y:dim(1):extent():at_least(p.block_rows) }, { threads = 32, block_rows = 1 } }
  end
  local cols, bytes, vector, versions = x:dim(0):extent(), grid.bytes_of[x:type()], grid.vector_of(x), {}
  local function add(list, condition)
    for _, v in ipairs(list) do
      local when = condition
      if v.most then when = when and when:and_(cols:at_most(v.most)) or cols:at_most(v.most) end
      if more.a_row_each then
        if v.threads < 32 then v.threads, v.unroll = 32, math.max(v.unroll * v.threads // 32, 1) end
        v.block_rows = 1
      elseif v.block_rows > 1 then -- the last block has the last rows
        local enough = y:dim(1):extent():at_least(v.block_rows)
        if p.invariant then -- a row alone has a warp, whose threads have the same vectors
          table.insert(versions, {
            when = when:and_(enough:not_()), threads = 32, block_rows = 1, vector = v.vector, unroll = v.unroll, held = v.held,
            resident = v.resident,
          })
        end
        when = when:and_(enough)
      end
      v.most, v.when = nil, when
      table.insert(versions, v)
    end
  end
  local function whole(elements) return cols:multiple_of(elements):and_(grid.rows_fit({ x, y }, elements)) end
  local odd = whole(vector):not_()
  local few = cols:above(1024):and_(y:dim(1):extent():at_most(4 * target.multiprocessors))
  if not p.invariant then
    add(of_few(1), odd:and_(few))
    add(of_few(vector), few)
  end
  if vector == 8 then add({ version(2048, 32, { rows = 4, vector = 4, unroll = 2 }) }, odd:and_(whole(4)):and_(cols:above(128))) end
  add(of_any_length(bytes), odd:and_(cols:above(64)))
  add(of_vectors(bytes, vector, more))
  return versions
end

-- What versions set, the caller does not.
function rows.params_fit(p)
  if p.threads == 0 then return p.block_rows == 1 and p.vector == 8 and p.unroll == 2 and p.held == "registers" and p.resident == 0 end
  if p.block_rows == 1 then return p.threads >= 32 end
  return p.threads <= 32 and p.threads * p.block_rows % 32 == 0 and p.threads * p.block_rows <= 1024 and p.held == "registers"
end

-- The options of the helpers below, for rows of y. Rows held in shared memory have to fit there.
function rows.options(y, p)
  return {
    at = { y, p.block_rows > 1 and "row_in_block" or "row" }, threads = p.threads, vector = p.vector, unroll = p.unroll, held = p.held,
    resident = p.resident, rows = p.block_rows,
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
--
-- rows    of a block, if not 1: there have to be so many, as the last block takes the last ones
--
--   for row: for col: y
--     ->
--   blocks row
--     threads row_in_block: threads thread: ...
function rows.blocks(y, o)
  if (o.rows or 1) > 1 then
    rows.blocks_of_rows(y, o)
    return
  end
  grid.over_threads(y, "col", o)
  rows.blocks_around(y, { "lane", "step", "chunk", "thread" }, o)
  y:gpu_threads("thread")
  grid.in_registers(y)
end

-- The same of several rows. A thread of a row that is not there would leave others to wait for what it reduces.
function rows.blocks_of_rows(y, o)
  y:split("row", o.rows, "shift_inwards", "row", "row_in_block")
  grid.over_threads(y, "col", o)
  y:reorder("lane", "step", "chunk", "thread", "row_in_block", "row")
  y:gpu_blocks "row":gpu_threads { "thread", "row_in_block" }
  grid.in_registers(y)
  y:never_partition("thread", "row_in_block", "row")
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

-- Has the block that computes a row of y compute its scales, where they are not given: one, or one for each 128 columns.
--
--   blocks row
--     peak = part of all threads                                -- for a row
--     threads: peak of 8 columns; threads: peak of 16 of these  -- for blocks of columns, in shared memory
--     threads thread: y = f(peak)
--
-- Needs rows in blocks of their own.
--
-- statistics     Funcs over [row] that a peak needs: of one row, where Halide would make a range of that of y and that of the scales
function rows.own_scales(k, o, statistics)
  if not k:has "inv_scale" then return end
  if (o.rows or 1) > 1 then error "block_rows: rows with scales of their own have a block each, so take block_rows=1" end
  for _, func in ipairs(statistics or {}) do func:bound_extent("row", 1) end
  if k:has "row_scale" then
    rows.blocks_around(k.row_scale, {}, o)
    k.row_scale:compute_with(k.y, o.at[2])
    grid.each_thread(k.inv_scale, o)
    reduce.in_block(k.peak, "col", o)
  else
    local function in_shared(func) return func:compute_at(o.at[1], o.at[2]):store_in "gpu_shared":bound_extent("row", 1) end
    local function by_threads(stage, loop)
      stage:split(loop, o.threads, "guard", "chunk", "thread")
      stage:gpu_threads "thread"
    end
    -- Has a thread compute an element in its registers, and put it into shared memory.
    local function by_threads_in_shared(func, loops)
      local shared = in_shared(func:in_())
      by_threads(shared, grid.fuse(shared, loops))
      func:compute_at(shared, "thread"):store_in "register"
    end
    rows.blocks_around(k.block_scale, {}, o)
    k.block_scale:compute_with(k.y, o.at[2])
    by_threads(k.block_scale, "block")
    by_threads(in_shared(k.inv_scale), "block")
    k.peak:update(0):split("col", 8, "guard", "part", "lane")
    local part = k.peak:update(0):rfactor("part", { "of_part" })
    by_threads_in_shared(k.peak, { "block" })
    k.peak:update(0):unroll("part"):never_partition_all()
    by_threads_in_shared(part, { "of_part", "block" })
    part:update(0):atomic():vectorize("lane"):never_partition_all()
  end
end

-- What a product is to be stored in, before its rows are rounded by scales of their own if they are: k.h, or else k.y itself.
--
--   h; for row: peak; for row: for col: y = f(h, peak)
--     ->
--   h                                                           -- the caller's business
--   blocks row: as own_scales() has it
function rows.quantised_after(k)
  if not k:has "h" then return k.y end
  local o = { at = { k.y, "row" }, threads = 256, vector = 8, unroll = 2 }
  rows.blocks(k.y, o)
  rows.own_scales(k, o)
  return k.h:compute_root()
end

-- Scales of rows or blocks with a kernel for each stage.
function rows.own_scales_in_passes(k, o)
  if not k:has "inv_scale" then return end
  local values = { threads = o.threads, rows = { "row" } }
  if k:has "row_scale" then
    reduce.rows(k.peak, "col", o)
  else
    values.rows = { "block", "row" }
    elementwise.elements(k.peak:compute_root(), values)
    elementwise.elements(k.peak:update(0), values)
  end
  elementwise.elements(k.inv_scale:compute_root(), values)
  elementwise.elements(k:has "row_scale" and k.row_scale or k.block_scale, values)
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
