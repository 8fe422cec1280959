-- Transposition on a GPU.

local grid = require "lib.gpu_grid"

local transpose = {}

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
-- read, written    elements of x, and of y, that a thread has at once, as many as 16 bytes have by default
-- loops    the names of row, col and others, if they are not "row", "col" and { "n" }
--
-- Where x is read by wider vectors than y is written by, or the other way round, more threads stand side by side in a row of the one,
-- and in a column of the other: the loop "beside" over threads is of the one or of the other.
--
-- A gap of 4 bytes follows a column of the tile, so that threads that go along a row meet different banks.
function transpose.tiles(y, t, o, loops)
  local names = loops or { row = "row", col = "col", others = { "n" } }
  local row, col, others = names.row, names.col, names.others
  local read, written = o.read or grid.vector_of(t), o.written or grid.vector_of(t)
  local narrow, wide = o.tile // math.max(read, written), o.tile // math.min(read, written) -- threads side by side
  local function spread(stage, along, other, vector)
    local across = o.tile // vector
    local inner, threads = { "step" }, { "thread", "thread_y" }
    if vector > 1 then
      stage:split(along, vector, "guard", "thread", "lane")
      stage:vectorize("lane")
      table.insert(inner, 1, "lane")
    else
      stage:rename(along, "thread")
    end
    stage:split(other, o.threads // across, "guard", "step", "thread_y")
    if narrow < wide then
      table.insert(threads, 2, "beside")
      if across == wide then
        stage:split("thread", narrow, "guard", "beside", "thread")
      else
        stage:split("thread_y", wide // narrow, "guard", "thread_y", "beside")
      end
    end
    for _, loop in ipairs(threads) do table.insert(inner, loop) end
    stage:reorder(table.unpack(inner)):gpu_threads(threads):unroll("step"):never_partition_all()
  end
  y:split(row, o.tile, "guard", "tile_row", "in_row")
  y:split(col, o.tile, "guard", "tile_col", "in_col")
  y:reorder("in_row", "in_col", "tile_row", "tile_col", table.unpack(others))
  grid.over_blocks(y, { "tile_row", "tile_col", table.unpack(others) })
  spread(y, "in_row", "in_col", written)
  t:compute_at(y, "tile_row"):store_in "gpu_shared"
  t:bound_storage(row, o.tile + 4 // grid.bytes_of[t:type()]):bound_storage(col, o.tile)
  for _, dim in ipairs(others) do t:bound_storage(dim, 1) end
  spread(t, col, row, read)
end

-- Versions by the distance of the rows of x and of y, in which every access begins where one of its size may. Each sets the parameters
-- "read" and "written".
--
-- Small tiles are for few elements, so that all multiprocessors have some, and for matrices that are narrower than a large one.
--
-- like_y    y, and what is added to it
function transpose.versions(x, like_y, target)
  local whole = grid.vector_of_all { x, table.unpack(like_y) }
  local reads, writes, pairs = grid.rows_fit({ x }, whole), grid.rows_fit(like_y, whole), grid.rows_fit(like_y, 2)
  local small = grid.elements_of(x, 3):at_most(4 * target.multiprocessors * 64 * 64)
  for d = 0, 1 do small = small:or_(x:dim(d):extent():at_most(32)) end
  return {
    { when = reads:and_(writes):and_(small), read = whole, written = whole, tile = 32, threads = 128 },
    { when = reads:and_(writes), read = whole, written = whole },
    { when = reads:and_(pairs), read = whole, written = 2 },
    { when = reads, read = whole, written = 1 },
    { when = writes, read = 1, written = whole },
    { read = 1, written = 1 },
  }
end

return transpose
