-- What the CUDA schedules of decode_attention share. A block has the rows of a group of queries, `lanes` threads
-- side by side along the head, and threads / lanes of these for the keys.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local host = require "lib.attention"

local decode = {}

-- Promises the size of a head, where it is known. Versions share the array of the results, but have promises of their own on the others.
function decode.fix_head_dim(k, head_dim)
  if head_dim > 0 then
    for _, buffer in ipairs { k.q, host.keys(k), host.values(k) } do buffer:dim(0):set_bounds(0, head_dim) end
    k.out:bound("d", 0, head_dim)
  end
end

decode.generator = {
  softmax = "open",
  split_keys = -1, -- as split and blocks say
  key_block = tune { 32, 64, default = 32 }, -- small ones leave shared memory for more blocks
  row_block = tune { 1, 4, 8, default = 4 }, -- queries that share a read of the keys, of all heads of a group
}

decode.params = {
  rescaled = tune { 0, 1, default = 0 }, -- 1: one pass over the keys, by tensor cores, for heads of a known size
  one_query = tune { 0, 1, default = 1 }, -- of that: 0: the queries of a group are copied first, as rows of one matrix
  rows     = tune { 4, 8, 16, default = 4 }, -- of that: heads of a group, of which the tile has 16
  blocks   = tune { 0, 132, 264, 396, 528, 792, default = 396 }, -- of that: splits of all heads and sequences; 0: by split
  warps    = tune { 1, 2, 4, 8, default = 4 }, -- of that: they share a split
  split    = tune { 0, 256, 512, 1024, default = 0 }, -- keys of a block; 0: what a call's sizes are best off with
  lanes    = tune { 4, 8, 16, default = 8 }, -- threads side by side along the head, 16 bytes each
  threads  = tune { 64, 128, 256, default = 64 },
  head_dim = tune { 0, 64, 80, 96, 128, 192, 256, default = 0 }, -- a constant, if not 0, which saves all questions about its end
  ahead    = tune { 0, 1, 2, 3, default = 2 }, -- blocks of keys, and of values, that are fetched ahead; 0 for none
  -- A sequence's result is the same bits whatever other sequences a call has, and however long they are: splits of 256 keys.
  invariant = grid.invariant,
}

-- Those of tensor cores, by how many heads share keys.
local function of_tensor_cores(k, p)
  local versions, one_query = {}, k.q:dim(1):extent():eq(1)
  local group = k.q:dim(2):extent() // k.k:dim(2):extent()
  local function add(head_dim, condition, o)
    local fits = k.q:dim(0):extent():eq(head_dim):and_(k.v:dim(0):extent():eq(head_dim)):and_(k.scale:above(0))
    o.when = condition and fits:and_(condition) or fits
    o.head_dim, o.rescaled, o.ahead = head_dim, 1, 1
    if p.invariant then o.blocks, o.split = 0, 256 end
    table.insert(versions, o)
  end
  for _, head_dim in ipairs { 64, 128 } do
    add(head_dim, one_query:and_(group:at_most(4)), { rows = 4 })
    add(head_dim, one_query, { rows = 16 })
    add(head_dim, one_query:not_(), { rows = 16, one_query = 0 })
  end
  -- Models with heads of 80 and 96 have as many for keys. With 256, shared memory has room for two blocks of two warps.
  for _, head_dim in ipairs { 80, 96 } do
    add(head_dim, one_query, { rows = 4 })
    add(head_dim, one_query:not_(), { rows = 4, one_query = 0 })
  end
  add(256, one_query, { rows = 16, warps = 2, blocks = 264 })
  add(256, one_query:not_(), { rows = 16, one_query = 0, warps = 2, blocks = 264 })
  return versions
end

-- Short splits where long ones would leave multiprocessors idle, or would be mostly empty: few sequences, or few keys. Long ones leave less
-- to put together (docs/notes/2026-11-row-versions.md).
function decode.versions(k, p, target)
  if p.split > 0 or p.rescaled == 1 then return { {} } end
  local cache = host.keys(k)
  local by_tensor_cores = not k:has "k_pages" and cache:type() == k.q:type() and cache:type() ~= "f32"
  local versions = by_tensor_cores and of_tensor_cores(k, p) or {}
  if p.invariant then
    table.insert(versions, { split = 256 })
    return versions
  end
  local rows = k.q:dim(1):extent() * (k.q:dim(2):extent() // cache:dim(2):extent())
  local keys, batch = cache:dim(1):extent(), cache:dim(3):extent()
  if k:has "page_table" then keys, batch = keys * k.page_table:dim(0):extent(), k.page_table:dim(1):extent() end
  local groups = (rows + (p.row_block - 1)) // p.row_block * cache:dim(2):extent() * batch
  local idle = (groups * ((keys + 1023) // 1024)):at_most(2 * target.multiprocessors)
  table.insert(versions, { when = idle:or_(keys:at_most(512)), split = 256 })
  table.insert(versions, { split = 1024 })
  return versions
end

-- Each thread along the keys has one of a block at least. A block of the tensor cores has so much shared memory on sm_80.
function decode.where(p)
  if p.rescaled == 1 then
    if p.blocks == 0 and p.split == 0 then return false end
    return p.head_dim > 0 and p.ahead > 0 and 4 * p.head_dim * (8 + p.warps * (p.ahead + 1) * 16) <= 163 * 1024
  end
  return p.threads // p.lanes <= p.key_block
end

-- Says that there is one split of one group of rows, and that it has all its rows.
local function of_block(func, p)
  func:bound("r", 0, p.row_block)
  for _, dim in ipairs { "sp", "rb", "hk", "n" } do func:bound_extent(dim, 1) end
  return func
end

decode.of_block = of_block

-- Cuts the head among the threads that stand side by side.
--
--   for d
--     ->
--   for tile: for step: threads thread: vectorized lane       -- d = tile * size + (step * lanes + thread) * vector + lane
local function along_head(stage, p, vector, tile)
  stage:split("d", tile, "round_up", "tile", "in_tile")
  stage:split("in_tile", p.lanes * vector, "auto", "step", "in_step")
  stage:split("in_step", vector, "auto", "thread", "lane")
  stage:vectorize "lane"
end

-- Brings a block of keys, or of values, into shared memory: threads side by side along the head, the others along the keys.
--
--   for kb
--     for j: for d: k_block = k
--     ->
--   for kb: fetch k_block, of the blocks to come
--
-- at      the Func and the loop of the blocks      from    those of the block of threads
function decode.fetch_block(func, p, vector, at, from)
  func:compute_at(at[1], at[2]):hoist_storage(from[1], from[2]):ring_buffer(p.ahead + 1):store_in "gpu_shared"
  func:bound_extent("j", p.key_block)
  for _, dim in ipairs { "kb", "sp", "hk", "n" } do func:bound_extent(dim, 1) end
  func:bound_extent("d", p.head_dim)
  func:split("d", p.lanes * vector, "round_up", "tile", "in_tile")
  func:split("in_tile", vector, "guard", "thread", "lane")
  func:split("j", p.threads // p.lanes, "auto", "step", "thread_key")
  func:reorder("lane", "step", "tile", "thread", "thread_key"):gpu_threads { "thread", "thread_key" }
  func:vectorize "lane":unroll "step":never_partition_all():fetch(p.ahead)
end

-- Computes the logits of some keys and rows. A key's vectors are loaded by threads side by side, which sum their
-- products in registers for several keys and all rows; then they add up theirs by shuffles.
--
--   logits: for kb: for j: for r: scores = sum over depth of q * k
--     ->
--   for kb
--     threads thread, thread_key
--       for step: for r: for key: part += q * k       -- vectors along the head
--     scores = part of all threads side by side
--     logits, by one of them
function decode.dot_products(k, p, vector)
  local keys = p.key_block * p.lanes // p.threads -- of a thread
  k.logits:split("j", keys, "auto", "thread_key", "key")
  k.logits:split("r", p.row_block, "auto", "one", "row")
  k.logits:reorder("row", "key", "one", "thread_key", "kb"):gpu_threads { "one", "thread_key" }:vectorize "row"
  k.logits:never_partition_all()

  local dot = k.scores:update(0)
  dot:split("depth", p.lanes * vector, "guard", "step", "in_step")
  dot:split("in_step", vector, "guard", "thread", "lane")
  local part = dot:rfactor("thread", { "of_thread" }):bound_extent("of_thread", p.lanes)
  for _, sum in ipairs { k.scores, part } do
    grid.each_thread(sum, { at = { k.logits, "kb" } })
    of_block(sum, p):bound_extent("j", p.key_block):bound_extent("kb", 1)
    for _, stage in ipairs { sum, sum:update(0) } do stage:split("j", keys, "auto", "thread_key", "key") end
  end
  for _, stage in ipairs { k.scores, dot } do
    stage:split("r", p.row_block, "auto", "one", "row")
  end
  k.scores:reorder_storage("r", "j"):reorder("key", "row", "one", "thread_key"):gpu_threads { "one", "thread_key" }
  dot:reorder("thread", "key", "row", "one", "thread_key"):gpu_threads { "one", "thread_key" }
  part:reorder("key", "r", "of_thread", "thread_key"):gpu_threads { "of_thread", "thread_key" }
  part:update(0):reorder("lane", "key", "r", "step", "of_thread", "thread_key"):atomic():vectorize "lane"
    :gpu_threads { "of_thread", "thread_key" }:never_partition_all()
end

-- Reduces the keys of a split, a maximum or a sum, to a number for each row that all threads have.
--
--   for r: for key: row_max = max(row_max, logits)
--     ->
--   threads thread: for kb: for chunk: part = max(part, logits)      -- a vector of rows
--   row_max = part of all threads side by side
--
-- at      the Func and the loop in which it is needed
function decode.over_keys(func, p, at)
  local update = func:update(0)
  update:split("key_x", p.lanes, "auto", "chunk", "thread")
  local part = update:rfactor("thread", { "of_thread" }):bound_extent("of_thread", p.lanes)
  for _, reduction in ipairs { func, part } do
    grid.each_thread(of_block(reduction, p), { at = at })
  end
  part:gpu_threads("of_thread"):vectorize "r"
  part:update(0):reorder("r", "chunk", "key", "of_thread"):gpu_threads("of_thread"):vectorize("r"):never_partition_all()
end

-- Sums the values of a split, weighed: every thread along the keys its part of them in registers, then all parts.
--
--   for d: for r: for key: acc += p * v
--     ->
--   for tile
--     threads thread, thread_key: part in registers = 0
--     for kb: threads thread, thread_key: for key: part += p * v
--     threads thread, thread_key: parts = part                                             -- in shared memory
--   acc = sum of the parts
--
-- at      the Func and the loop of a block          thread    the loop of it in which acc is needed
function decode.weigh_values(k, p, vector, at, thread)
  local update = k.acc:update(0)
  update:split("key_x", p.key_block * p.lanes // p.threads, "auto", "thread_key", "near")
  local part = update:rfactor("thread_key", { "part" })
  -- All of the head if its size is known, so that p is read once; else as much as all threads have.
  local tile = p.head_dim > 0 and p.head_dim or p.lanes * vector
  local parts = part:in_():compute_at(at[1], at[2]):store_in "gpu_shared"
  of_block(parts, p):bound_extent("part", p.threads // p.lanes)
  along_head(parts, p, vector, tile)
  parts:reorder("lane", "step", "r", "thread", "part", "tile"):gpu_threads { "thread", "part" }
  parts:never_partition_all()

  of_block(part, p):compute_at(parts, "tile"):store_in "register":bound_extent("d", tile)
  part:bound_extent("part", p.threads // p.lanes)
  for _, stage in ipairs { part, part:update(0) } do
    stage:split("d", p.lanes * vector, "auto", "step", "in_step")
    stage:split("in_step", vector, "auto", "thread", "lane")
    stage:vectorize "lane"
  end
  part:reorder("lane", "step", "r", "thread", "part"):gpu_threads { "thread", "part" }:never_partition_all()
  part:update(0):reorder("lane", "r", "step", "near", "thread", "part", "key"):gpu_threads { "thread", "part" }
    :never_partition_all()
  if p.head_dim == 0 then -- a value is loaded once for all rows
    k.v_f:compute_at(part, "step"):store_in "register":bound_extent("d", vector):vectorize "d":never_partition_all()
    for _, dim in ipairs { "j", "kb", "sp", "hk", "n" } do k.v_f:bound_extent(dim, 1) end
  end
  if p.head_dim > 0 and p.ahead > 0 then
    part:compute_at(at[1], at[2])
    -- Blocks of values behind a length are skipped, and Halide 21 hoists no storage out of a condition that is loaded.
    if not k:has "lengths" then decode.fetch_block(k.v_block, p, vector, { part, "key" }, at) end
  end

  of_block(k.acc, p):compute_at(at[1], thread):store_in "register":bound_extent("d", 1):never_partition_all()
  update:reorder("r", "thread_key"):never_partition_all()
end

-- Has blocks store the splits: rows of a group, then splits, then heads. A thread has an element of all rows.
function decode.split_blocks(k, p)
  local split = k.split:compute_root():bound("r", 0, p.row_block)
  split:split("d", p.threads, "guard", "tile", "in_tile")
  split:split("in_tile", p.lanes, "guard", "thread_y", "thread")
  split:reorder("r", "tile", "thread", "thread_y", "rb", "sp", "hk", "n"):fuse("hk", "n", "head")
  split:gpu_blocks { "rb", "sp", "head" }:gpu_threads { "thread", "thread_y" }:never_partition_all()
  return split
end

-- Weighs the splits of a row: a warp has it, a thread a vector of the head. Several splits are under way together: one after the
-- other, each would wait for the L2.
--
--   for row: for d: writer
--     ->
--   blocks of rows
--     threads thread: part = top of every 32nd split; top, total = those of all threads
--     for tile: threads thread
--       for chunk: unrolled near: sum += weight * split        -- a vector of the head
--       writer = sum / total
--
-- writer    the Func of the kernel      rows    its loops over blocks, innermost first      dims    of what is one a row
local function weigh_splits(k, writer, rows, dims)
  if k:has "lse" then elementwise.elements(k.lse, { rows = { "query", "h", "n" }, threads = 64 }) end
  local vector = grid.vector_of(k.sum)
  writer:split("d", 32 * vector, "guard", "tile", "in_tile")
  writer:split("in_tile", vector, "guard", "thread", "lane")
  writer:reorder("lane", "thread", "tile", table.unpack(rows))
  writer:gpu_blocks(rows):gpu_threads { "thread" }:vectorize("lane"):never_partition_all()
  local function of_row(func)
    for _, dim in ipairs(dims) do func:bound_extent(dim, 1) end
    return func
  end
  for _, of_splits in ipairs { k.top, k.total } do
    local update = of_splits:update(0)
    update:split("split", 32, "guard", "chunk", "thread")
    local part = update:rfactor("thread", { "of_thread" }):bound_extent("of_thread", 32)
    for _, reduction in ipairs { of_splits, part } do
      grid.each_thread(of_row(reduction), { at = { writer, rows[1] } })
    end
    for _, stage in ipairs { part, part:update(0) } do stage:gpu_threads("of_thread"):never_partition_all() end
    update:never_partition_all()
  end
  grid.each_thread(of_row(k.sum), { at = { writer, "thread" } })
  k.sum:bound_extent("d", vector):vectorize("d"):never_partition_all()
  k.sum:update(0):split("split", 8, "guard", "chunk", "near")
  k.sum:update(0):reorder("d", "near", "chunk"):vectorize("d"):unroll("near"):never_partition_all()
end

-- By groups of rows, and then in the order of the queries.
function decode.all_splits(k, p)
  k.mean:compute_root():bound("r", 0, p.row_block):reorder("d", "r", "rb", "hk", "n"):fuse("r", "rb", "row")
  weigh_splits(k, k.mean, { "row", "hk", "n" }, { "r", "rb", "hk", "n" })
  elementwise.vectors(k.out, { col = "d", rows = { "query", "h", "n" }, lanes = p.lanes, threads = p.threads, unroll = 1 })
end

-- Where the queries stand.
function decode.splits_of_queries(k)
  weigh_splits(k, k.out, { "query", "h", "n" }, { "query", "h", "n" })
end

-- One pass over the keys of a split: scores, maxima, weights and sums of a block of keys in registers, rescaled from block to block. Warps,
-- of which some share a split, have the heads that share keys as rows of a tile of 16.
--
-- p    head_dim, ahead, warps, one_query    rows, keys    of a group, and of a block, as the algorithm has them
function decode.by_tensor_cores(k, p, rows, keys)
  if k:has "k_pages" then
    error "page: blocks of keys are fetched as boxes of one tensor, and pages are none; decode_attention.lua has them"
  end
  if k.k:type() ~= k.q:type() then
    error "cache_type: tensor cores fetch keys and values as they multiply them, in the type of the queries; decode_attention.lua converts"
  end
  if p.one_query == 1 then
    k.q:dim(1):set_bounds(0, 1)
    k.out:bound("query", 0, 1)
  else
    local vectors = p.head_dim // grid.vector_of(k.q_rows)
    local rows_of_copy = { "row", "hk", "n" }
    elementwise.vectors(k.q_rows:compute_root(), { col = "d", rows = rows_of_copy, lanes = vectors, threads = 4 * vectors, unroll = 1 })
  end
  local split = k.split:compute_root():bound("r", 0, rows)
  split:reorder("d", "r", "rb", "sp", "hk", "n"):fuse("hk", "n", "head")
  split:gpu_blocks { "rb", "sp", "head" }:never_partition_all()
  k.acc:compute_at(k.split, "rb"):store_in "register":bound_extent("d", p.head_dim):bound_extent("r", 16)
  for _, one in ipairs { "sp", "rb", "hk", "n" } do k.acc:bound_extent(one, 1) end
  k.acc:update(0):reorder("d", "r", "block"):never_partition_all()
  for _, func in ipairs { k.scores, k.raw_max, k.block_max, k.p, k.block_sum, k.weights, k.pv } do
    func:compute_at(k.acc, "block"):store_in "register":bound_extent("r", 16):never_partition_all()
    for _, one in ipairs { "kb", "sp", "rb", "hk", "n" } do func:bound_extent(one, 1) end
  end
  for _, func in ipairs { k.scores, k.p, k.weights } do func:bound_extent("j", keys) end
  if k:has "capped" then -- once for the maximum and the weight
    k.capped:compute_at(k.acc, "block"):store_in "register":bound_extent("r", 16):bound_extent("j", keys):never_partition_all()
    for _, one in ipairs { "kb", "sp", "rb", "hk", "n" } do k.capped:bound_extent(one, 1) end
  end
  k.pv:bound_extent("d", p.head_dim)
  k.scores:update(0):reorder("depth", "j", "r"):never_partition_all():mma():pipeline(p.ahead + 1):split_k_warps(p.warps)
  for _, func in ipairs { k.raw_max, k.block_sum } do func:update(0):reorder("key", "r"):never_partition_all() end
  k.pv:update(0):reorder("key", "d", "r"):never_partition_all():mma()
  decode.splits_of_queries(k)
end

-- By threads. With a known head_dim, blocks of keys and values are fetched ahead, and q and the sums are in registers.
function decode.by_threads(k, p)
  local vector = grid.vector_of(host.keys(k))
  local split = decode.split_blocks(k, p)
  local block = { split, "rb" }

  local fixed = p.head_dim > 0 -- then a thread has its part of all rows in registers
  k.q_f:compute_at(split, "rb"):store_in(fixed and "register" or "gpu_shared"):bound("r", 0, p.row_block)
  k.q_f:split("d", p.lanes * vector, "guard", "tile", "in_tile")
  k.q_f:split("in_tile", vector, "guard", "thread", "lane")
  k.q_f:reorder("lane", "tile", fixed and "r" or "thread", fixed and "thread" or "r")
  k.q_f:gpu_threads(fixed and { "thread" } or { "thread", "r" }):vectorize "lane":never_partition_all()

  for _, of_keys in ipairs { k.logits, k.p } do
    of_keys:compute_at(split, "rb"):store_in "gpu_shared":reorder_storage("r", "j", "kb", "sp", "rb", "hk", "n")
    of_keys:bound("r", 0, p.row_block):bound_extent("j", p.key_block)
      :bound_storage("kb", p.split // p.key_block)
  end
  decode.dot_products(k, p, vector)
  if fixed and p.ahead > 0 then decode.fetch_block(k.k_block, p, vector, { k.logits, "kb" }, block) end
  decode.over_keys(k.row_max, p, block)
  k.p:split("j", p.lanes, "auto", "thread_key", "thread")
  k.p:reorder("r", "kb", "thread", "thread_key"):gpu_threads { "thread", "thread_key" }:vectorize "r"
  decode.over_keys(k.row_sum, p, block)
  decode.weigh_values(k, p, vector, block, "tile")
  decode.all_splits(k, p)
end

return decode
