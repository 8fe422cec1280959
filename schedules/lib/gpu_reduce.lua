-- Reductions on a GPU: each thread reduces its part in registers, then the threads put theirs together by shuffles.

local grid = require "lib.gpu_grid"

local reduce = {}

-- Reduces a loop in the registers of all threads, then across them by shuffles.
--
--   for col: sum += x(col)
--     ->
--   threads thread: for chunk: unrolled step: part += x(((chunk * unroll + step) * threads + thread) * vector ...)
--   sum = part of all threads                                   -- by shuffles; each thread has the sum
--
-- func    a Func with one update, which reduces `loop`, and the loops `around` it if there are any
-- at      the Func and the loop in which it is needed: { k.y, "row" }
function reduce.in_block(func, loop, o)
  local update = func:update(0)
  grid.over_threads(update, loop, o)
  local part = update:rfactor("thread", { "of_thread" }):bound_extent("of_thread", o.threads)
  grid.each_thread(func, o)
  grid.each_thread(part, o)
  part:gpu_threads "of_thread"
  local sum = part:update(0)
  sum:reorder("lane", "step", "chunk", "of_thread"):gpu_threads("of_thread"):atomic()
  grid.in_registers(sum)
end

-- A number for each row, such as 1 / rms, in a kernel of its own: a block reduces a row.
--
--   for row: value = f(sum over loop)
--     ->
--   blocks row: sum = part of all threads; value = f(sum)
--
-- value   a Func over [row]       sum       the Func with the reduction       loop      its loop
function reduce.row_statistic(value, sum, loop, o)
  value:compute_root():gpu_blocks "row"
  reduce.in_block(sum, loop, { at = { value, "row" }, threads = o.threads, vector = o.vector, unroll = o.unroll })
end

-- Reduces rows in a kernel of its own, which writes what the threads of a block reduced.
--
--   for row: for col: sum(row) += x(col, row)
--     ->
--   blocks row
--     sum, as in_block() has it
--
-- rows    the loops that are no reduction, innermost first
function reduce.rows(func, loop, o)
  local wrapper = func:in_():compute_root()
  grid.over_blocks(wrapper, o.rows)
  if #o.rows > 3 then
    for _, dim in ipairs(o.rows) do func:bound_extent(dim, 1) end
  end
  reduce.in_block(func, loop, {
    at = { wrapper, o.rows[1] }, around = o.around, threads = o.threads, vector = o.vector, unroll = o.unroll,
  })
end

-- Reduces few long rows by many blocks, in a kernel of its own: a block has a tile of a row. What the blocks have is left to be reduced
-- over "tile", by rows() or in_block().
--
--   for row: for col: sum(row) += x(col, row)
--     ->
--   blocks tile, row: part = sum over the columns of a tile, as in_block() has it
--   for row: for tile: sum(row) += part(row, tile)
--
-- tile    columns
function reduce.tiles(func, loop, o)
  local update = func:update(0)
  update:split(loop, o.tile, "guard", "tile", "in_tile")
  local part = update:rfactor("tile", { "of_tile" })
  reduce.rows(part, "in_tile", { rows = { "row", "of_tile" }, threads = o.threads, vector = o.vector, unroll = o.unroll })
end

return reduce
