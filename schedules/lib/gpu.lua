-- Schedules for GPUs: rows of a matrix over blocks, columns over threads.

local gpu = {}

-- Has a block handle a row, its threads neighbouring vectors of columns.
--
--   for row: for col: y
--     ->
--   blocks row
--     threads thread
--       for step
--         y[row][(step * threads + thread) * vector ...]        -- a vector at once
--
-- y       a Func over [col, row]       threads, vector    how many, and of how many columns
--
-- Accesses of `vector` elements are 16 bytes where possible: 8 of a half type, 4 of f32.
function gpu.row_blocks(y, o)
  y:split("col", o.threads * o.vector, "guard", "step", "in_step")
  y:split("in_step", o.vector, "guard", "thread", "lane")
  y:reorder("lane", "step", "thread", "row")
  y:gpu_blocks("row"):gpu_threads("thread")
  y:vectorize("lane"):never_partition("step", "lane")
end

-- Reduces a loop in the registers of all threads, then across them by shuffles.
--
--   for col: sum += x(col)
--     ->
--   threads thread: for step: part += x((step * threads + thread) * vector ...)
--   sum = part of all threads                                   -- reduce_threads; each thread has the sum
--
-- func    a Func with one update, which reduces `loop`
-- at      the Func and the loop in which it is needed: { k.y, "row" }
function gpu.reduce(func, loop, o)
  local update = func:update(0)
  update:split(loop, o.threads * o.vector, "guard", "step", "in_step")
  update:split("in_step", o.vector, "guard", "thread", "lane")
  local part = update:rfactor("thread", { "of_thread" })
  gpu.each_thread(func, o)
  gpu.each_thread(part, o)
  part:gpu_threads "of_thread"
  part:update(0):reorder("lane", "step", "of_thread"):gpu_threads("of_thread")
  part:update(0):atomic():vectorize("lane"):never_partition("step", "lane")
end

-- Has every thread compute and keep a value of the row in its registers: no thread waits for another's.
function gpu.each_thread(func, o)
  func:compute_at(o.at[1], o.at[2]):store_in "register"
end

-- Elements in an access of 16 bytes.
function gpu.vector(type)
  return type == "f32" and 4 or 8
end

return gpu
