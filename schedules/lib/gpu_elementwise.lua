-- Passes over a whole Func on a GPU, in which no element needs its neighbours.

local grid = require "lib.gpu_grid"

local elementwise = {}

-- Has a thread compute vectors of neighbouring columns, in several rows at once: a pass over a whole Func.
--
--   for row: for col: y
--     ->
--   blocks tile_row, tile_col            -- lanes * vector columns, threads / lanes * unroll rows
--     threads thread_row, thread
--       unrolled step
--         y[step * (threads / lanes) + thread_row][thread * vector ...]                -- a vector at once
--
-- y       a Func                       col        the loop of neighbours, "col" by default
-- rows    the other loops, innermost first; several become one
-- outside loops around the rows of a block: what follows from rows alone, each thread has without dividing
-- around  loops whose vectors are counted together with those of col, as grid.over_threads has it
-- threads, unroll                      lanes      threads side by side in a row, 32 by default
-- vector  elements of a thread that are neighbours, as many as 16 bytes have by default
-- narrow  lanes for an output y whose rows have no more vectors than that, so that all threads of a warp have something to do
function elementwise.vectors(y, o)
  local vector, col = o.vector or grid.vector_of(y), o.col or "col"
  local row = grid.fuse(y, o.rows)
  local function tiles(stage, lanes)
    if o.around then
      stage:split(col, vector, "guard", "vector", "lane")
      stage:split(grid.fuse(stage, { "vector", table.unpack(o.around) }), lanes, "guard", "tile_col", "thread")
    else
      stage:split(col, lanes * vector, "guard", "tile_col", "in_col")
      stage:split("in_col", vector, "guard", "thread", "lane")
    end
    stage:split(row, o.threads // lanes * o.unroll, "guard", "tile_row", "in_row")
    stage:split("in_row", o.threads // lanes, "guard", "step", "thread_row")
    stage:reorder("lane", "step", "thread", "thread_row", "tile_col", "tile_row")
    stage:gpu_blocks { "tile_col", grid.fuse(stage, { "tile_row", table.unpack(o.outside or {}) }) }:gpu_threads { "thread", "thread_row" }
    stage:vectorize("lane"):unroll("step"):never_partition_all()
  end
  local lanes = o.lanes or 32
  if o.narrow and o.narrow < lanes then
    tiles(y:specialize(y:dim(0):extent():at_most(o.narrow * vector)), o.narrow)
  end
  tiles(y, lanes)
end

-- Versions for arrays whose rows are 16 bytes apart in a multiple, for those whose rows are 2 elements apart in one, and for all: a
-- thread takes the largest vector with which every row begins where one may. Each sets the parameter "vector". Of so few elements that
-- blocks of several vectors a thread would leave multiprocessors without one, a thread of a small block has one.
--
-- arrays    whose dimension 1 steps from row to row; the first has all elements
-- dimensions    that it has         p    threads and unroll of the schedule
function elementwise.vector_versions(arrays, dimensions, p, target)
  local whole = grid.vector_of_all(arrays)
  local fits = grid.rows_fit(arrays, whole)
  local few = grid.elements_of(arrays[1], dimensions):at_most(2 * target.multiprocessors * p.threads * p.unroll * whole)
  return {
    { when = fits:and_(few), vector = whole, threads = math.min(p.threads, 128), unroll = 1 },
    { when = fits, vector = whole },
    { when = grid.rows_fit(arrays, 2), vector = 2 },
    { vector = 1 },
  }
end

-- Computes a value for each element of its loops, a thread an element: short passes, as over the statistics of rows.
--
--   for row: inv_rms
--     ->
--   blocks row: threads thread
--
-- rows    loops that become one, innermost first        blocks    loops around them
function elementwise.elements(func, o)
  local row = grid.fuse(func, o.rows)
  func:split(row, o.threads, "guard", "tile", "thread")
  grid.over_blocks(func, { "tile", table.unpack(o.blocks or {}) })
  func:gpu_threads("thread"):never_partition_all()
end

return elementwise
