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
-- loops    the names of row, col and others, if they are not "row", "col" and { "n" }
--
-- A gap of 4 bytes follows a column of the tile, so that threads that go along a row meet different banks.
function transpose.tiles(y, t, o, loops)
  local names = loops or { row = "row", col = "col", others = { "n" } }
  local row, col, others = names.row, names.col, names.others
  local vector = grid.vector_of(t)
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
  grid.over_blocks(y, { "tile_row", "tile_col", table.unpack(others) })
  spread(y, "in_row", "in_col")
  t:compute_at(y, "tile_row"):store_in "gpu_shared"
  t:bound_storage(row, o.tile + 4 // grid.bytes_of[t:type()]):bound_storage(col, o.tile)
  for _, dim in ipairs(others) do t:bound_storage(dim, 1) end
  spread(t, col, row)
end

return transpose
