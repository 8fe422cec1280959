-- Products on a GPU without tensor cores: tiles of sums in the registers of a block's threads.

local grid = require "lib.gpu_grid"

local tiles = {}

local side = 16 -- threads of a block along the columns, and along the rows
local near = 4  -- columns and rows of a thread that lie together: 16 bytes of 4-byte sums

-- Cuts a loop over a tile among the threads along it. A thread has pieces of 4 that lie apart, so that neighbouring
-- threads read neighbouring 16 bytes of shared memory.
--
--   for col
--     ->
--   threads thread: for part: for near           -- col = (part * 16 + thread) * 4 + near
local function pieces(stage, loop)
  local names = { part = loop .. "_part", near = loop .. "_near", thread = loop .. "_thread" }
  stage:split(loop, side * near, "guard", names.part, names.part .. "_rest")
  stage:split(names.part .. "_rest", near, "guard", names.thread, names.near)
  return names
end

-- For Funcs that a tile is reduced to.
tiles.pieces = pieces

-- Cuts columns and rows among the threads; in a thread `inner` loops, around them `outer`, innermost first.
local function over_threads(stage, col, row, outer, inner)
  local c, r = pieces(stage, col), pieces(stage, row)
  local order = { c.near, c.part, r.near, r.part, c.thread, r.thread }
  if inner then table.insert(order, 1, inner) end
  for _, loop in ipairs(outer or {}) do table.insert(order, loop) end
  stage:reorder(table.unpack(order)):gpu_threads { c.thread, r.thread }:never_partition_all()
  if inner then stage:atomic():vectorize(inner) else stage:vectorize(c.near) end
end

tiles.over_threads = over_threads

-- Fetches a tile of an operand into shared memory, k outermost there.
--
--   acc += operand(k, row)
--     ->
--   for step: threads: shared = operand
--
-- operand    { func, its loop "row" or "col", its k, the one of both that lies together in memory, others }
-- A gap of 4 elements follows each k, so that threads that go along k store to different banks.
-- With `ahead`, copies come by cp.async, and have time for so many steps. It gains nothing where both operands lie along k (n x k), 4
-- bytes at once.
--
-- A warp of 8 x 4 threads is as fast as one of 16 x 2, so that the reads of shared memory are not what limits. What is slower: steps of 32,
-- and an a that is kept as it lies, four k of a thread at once. Other tiles, tried by hand, gain a little
-- (docs/notes/2026-11-schedule-figures.md).
local function fetch(acc, operand, size, o, at)
  local func, loop, k = operand.func, operand.loop, operand.k
  local along = operand.together == "k" and k or loop
  local other = along == k and loop or k
  func:compute_at(acc, "step"):store_in "gpu_shared"
  local ahead = (o.ahead or 0) > 0
  if ahead then func:hoist_storage(at[1], at[2]):ring_buffer(o.ahead + 1):fetch(o.ahead) end
  if o.group then func:reorder_storage("member", loop, k) else func:reorder_storage(loop, k) end
  func:bound_extent(loop, size):bound_storage(loop, size + near):bound_storage(k, o.depth)
  for _, dim in ipairs(operand.others or {}) do func:bound_storage(dim, 1) end
  if ahead and along == loop then -- neighbours in shared memory too
    func:split(along, near, "guard", "vector", "lane")
    func:split("vector", side, "guard", "along_part", "along_thread")
    func:split(other, side, "guard", "other_part", "other_thread")
    func:reorder("lane", "along_part", "other_part", "along_thread", "other_thread"):vectorize "lane"
    func:gpu_threads { "along_thread", "other_thread" }:never_partition_all()
    return
  end
  func:split(along, side, "guard", "along_part", "along_thread")
  func:split(other, side, "guard", "other_part", "other_thread")
  if o.group then
    func:bound_extent("member", o.group):reorder("member", "along_part", "other_part", "along_thread", "other_thread")
    func:vectorize "member"
  else
    func:reorder("along_part", "other_part", "along_thread", "other_thread")
  end
  func:gpu_threads { "along_thread", "other_thread" }:never_partition_all()
end

-- Takes a thread's pieces of it from there to registers.
--
--   for depth: acc += shared
--     ->
--   for depth: threads: fragment = shared; acc += fragment
local function fragment(acc, operand, size, dimension, o)
  local func, loop, k = operand.func, operand.loop, operand.k
  local piece = func:in_(acc):compute_at(acc, "of_step"):store_in "register"
  if o.group then piece:reorder_storage("member", loop, k) else piece:reorder_storage(loop, k) end
  piece:bound_extent(loop, size):bound_extent(k, 1)
  for _, dim in ipairs(operand.others or {}) do piece:bound_extent(dim, 1) end
  local p = pieces(piece, loop)
  if o.group then
    piece:bound_extent("member", o.group):reorder("member", p.near, p.part, k, p.thread):vectorize "member"
  else
    piece:reorder(p.near, p.part, k, p.thread)
  end
  piece:vectorize(p.near):gpu_threads(dimension == 1 and { p.thread } or { k, p.thread }):never_partition_all()
end

-- Keeps a tile of sums in the registers of a block.
--
--   for row: for col: for k: acc += a * b
--     ->
--   acc = 0, in registers: 64 of a thread in a tile of 128 x 128
--   for step
--     a, b of `depth` k, in shared memory
--     for depth: acc += a * b                -- vectors of 16 bytes from shared memory
--
-- acc              the Func that sums          at       the Func and the loop of a block
-- a, b             the operands, as above; one is enough where the other stays what it is
-- columns, rows    of the tile, multiples of 64         col, row    their loops, "col" and "row" by default
-- k, around        the loop of the sum, "k" by default, and loops of it around that
-- others           dimensions of acc of which a block has one
-- depth            a multiple of 16, of k or of groups
-- ahead            steps that operands are fetched ahead, which they have to be without a conversion; 0 by default
-- group, rest      k that one instruction multiplies and adds, and the loop over what groups leave
function tiles.sums(acc, at, o)
  local col, row = o.col or "col", o.row or "row"
  acc:compute_at(at[1], at[2]):store_in "register"
  acc:bound_extent(col, o.columns):bound_extent(row, o.rows)
  for _, dim in ipairs(o.others or {}) do acc:bound_extent(dim, 1) end
  over_threads(acc, col, row)
  local step, k = acc:update(0), o.k or "k"
  if o.group then
    step:split(k, o.group, "guard", "groups", "of_group")
    k = "groups"
  end
  step:split(k, o.depth, "guard", "step", "of_step")
  over_threads(step, col, row, { "of_step", "step", table.unpack(o.around or {}) }, o.group and "of_group")
  if o.rest then over_threads(acc:update(1), col, row, { o.rest }) end
  fetch(acc, o.a, o.rows, o, at)
  fetch(acc, o.b, o.columns, o, at)
  fragment(acc, o.a, o.rows, 2, o)
  fragment(acc, o.b, o.columns, 1, o)
end

-- Cuts a Func that reads sums of a tile as they are cut, a block a tile.
--
--   for row: for col: y
--     ->
--   blocks tile_col, tile_row, blocks: threads: y
--
-- blocks    loops around
--
-- Returns the loop of a block.
function tiles.blocks(y, o)
  local col, row = o.col or "col", o.row or "row"
  y:split(col, o.columns, "guard", "tile_col", "in_col")
  y:split(row, o.rows, "guard", "tile_row", "in_row")
  local blocks = { "tile_col", "tile_row", table.unpack(o.blocks or {}) }
  over_threads(y, "in_col", "in_row", blocks)
  return grid.over_blocks(y, blocks)
end

-- Has a block compute a tile of a product in registers, and what is made of it where the sums are.
function tiles.product(y, acc, o)
  tiles.sums(acc, { y, tiles.blocks(y, o) }, o)
end

-- Sums products in tiles of registers, each thread for itself: operands come from L1, where neighbouring threads find what
-- they share. For windows, and for operands that no copy in shared memory fits.
--
--   for others: for row: for col: y = f(sum over the loops of acc)
--     ->
--   blocks tile_col, tile_row, others
--     threads thread (columns), thread_row
--       acc in registers = 0: rows x columns, those a vector
--       for sums: acc += a * b
--       y tile = f(acc)
--
-- y               a Func with the loops of acc       col, row       of a tile
-- columns, rows   of a thread                        lanes          threads along the columns, of `threads`
-- others          the loops that are left: the outer four are blocks; a block goes over the rest
-- sums            those of each update of acc, innermost first
-- shifted         which of col and row must not be asked for beyond the last: the last tile is moved back, and there have to
--                 be as many as in a tile. The others are computed in whole tiles.
function tiles.of_threads(y, acc, o)
  local shifted = {}
  for _, loop in ipairs(o.shifted or {}) do shifted[loop] = true end
  local function cut(loop, size, outer, inner)
    y:split(loop, size, size > 1 and (shifted[loop] and "shift_inwards" or "guard") or "auto", outer, inner)
  end
  cut(o.col, o.columns, "part", "lane")
  cut(o.row, o.rows, "strip", "line")
  y:split("part", o.lanes, "guard", "tile_col", "thread")
  y:split("strip", o.threads // o.lanes, "guard", "tile_row", "thread_row")
  local others, order, blocks = o.others or {}, { "lane", "line", "thread", "thread_row" }, { "tile_col", "tile_row" }
  for i, loop in ipairs(others) do table.insert(i <= #others - 4 and order or blocks, loop) end
  for _, loop in ipairs(blocks) do table.insert(order, loop) end
  y:reorder(table.unpack(order))
  grid.over_blocks(y, blocks)
  y:gpu_threads { "thread", "thread_row" }
  y:vectorize("lane"):unroll("line"):never_partition_all()

  acc:compute_at(y, "thread"):store_in "register":bound_extent(o.col, o.columns):bound_extent(o.row, o.rows)
  for _, dim in ipairs(others) do acc:bound_extent(dim, 1) end
  acc:vectorize(o.col):unroll(o.row):never_partition_all()
  for i, loops in ipairs(o.sums) do
    acc:update(i - 1):reorder(o.col, o.row, table.unpack(loops)):vectorize(o.col):unroll(o.row):never_partition_all()
  end
end

return tiles
