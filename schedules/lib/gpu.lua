-- Schedules for GPUs: rows of a matrix over blocks, columns over threads.

local gpu = {}

-- Cuts a loop for the threads of a block: a thread has neighbouring vectors, `unroll` of them in flight.
--
--   for col
--     ->
--   for chunk: threads thread: unrolled step: vectorized lane      -- col = ((chunk * unroll + step) * threads + thread)
--                                                                  --       * vector + lane
local function over_threads(stage, loop, o)
  stage:split(loop, o.threads * o.vector * o.unroll, "guard", "chunk", "in_chunk")
  stage:split("in_chunk", o.threads * o.vector, "guard", "step", "in_step")
  stage:split("in_step", o.vector, "guard", "thread", "lane")
end

local function in_registers(stage)
  stage:vectorize("lane"):unroll("step")
  stage:never_partition("chunk", "step", "lane")
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
  y:reorder("lane", "step", "chunk", "thread", "row")
  y:gpu_blocks("row"):gpu_threads("thread")
  in_registers(y)
end

-- Reduces a loop in the registers of all threads, then across them by shuffles.
--
--   for col: sum += x(col)
--     ->
--   threads thread: for chunk: unrolled step: part += x(((chunk * unroll + step) * threads + thread) * vector ...)
--   sum = part of all threads                                   -- reduce_threads; each thread has the sum
--
-- func    a Func with one update, which reduces `loop`
-- at      the Func and the loop in which it is needed: { k.y, "row" }
function gpu.reduce(func, loop, o)
  local update = func:update(0)
  over_threads(update, loop, o)
  local part = update:rfactor("thread", { "of_thread" })
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

-- Has every thread compute and keep a value of the row in its registers: no thread waits for another's.
function gpu.each_thread(func, o)
  func:compute_at(o.at[1], o.at[2]):store_in "register"
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
-- stages  of the pipeline              group     rows of tiles that blocks take together
function gpu.tensor_tiles(y, acc, o)
  y:split("col", o.columns, "guard", "tile_col", "col_in_tile")
  y:split("row", o.rows, "guard", "tile_row", "row_in_tile")
  y:reorder("col_in_tile", "row_in_tile", "tile_col", "tile_row")
  y:gpu_blocks { "tile_col", "tile_row" }
  y:never_partition_all()
  for _, sum in ipairs(type(acc) == "table" and acc or { acc }) do
    sum:compute_at(y, "tile_col"):store_in "register"
    sum:bound_extent("col", o.columns):bound_extent("row", o.rows):never_partition_all()
    local step = sum:update(0)
    step:split("k", 64, "guard", "step", "depth")
    step:reorder("depth", "col", "row", "step"):never_partition_all()
    step:mma():pipeline(o.stages, o.group)
  end
end

return gpu
