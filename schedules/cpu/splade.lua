-- The SPLADE head for AVX2 and AVX-512, weights packed into panels. A task takes a panel of the vocabulary and a
-- sequence: blocks of positions are accumulated in registers one after the other, and only the
-- maximum of each word is kept. The panel stays in L2 while the positions go by. Where there is AMX, a task takes several panels,
-- and each block of 32 positions meets all of them, so that parts of f32 are made once for all (runtime/mma_f32.h).

local gemm = require "lib.gemm"
local mma = require "lib.mma"

local function by_vectors(k, p, target)
  local tiles = gemm.packed(target, k.x, k.x_f, { panel = p.panel, rows = p.columns, tiles = "never" })
  if target.vector_registers < 32 then tiles.columns, tiles.rows = p.panel // 2, 4 end -- rows that divide a block
  local panel, col = k.y:split("col", p.panel, "guard", "panel", "col_in_panel")
  k.y:reorder(col, "n", panel):parallel(panel):parallel "n"
  k.y:vectorize(col, tiles.lanes, "guard")

  k.top:compute_at(k.y, "n"):store_in "stack":bound_extent("col", p.panel):vectorize("col", tiles.lanes)
  local update = k.top:update(0)
  local part, column = update:split("col", tiles.columns, "guard", "part", "column")
  local positions, position = update:split("r_x", tiles.rows, "auto", "positions", "position")
  update:reorder(column, position, part, positions, "r_y")
    :vectorize(column, tiles.lanes):unroll(column):unroll(position)

  gemm.in_registers(k.acc, k.top, "part", {
    columns = tiles.columns, lanes = tiles.lanes, row = "i", group = tiles.group, dot = tiles.dot,
  })
  if tiles.stage_a then
    k.x_f:compute_at(k.top, "positions"):vectorize("k", tiles.lanes, "guard")
  end
end

local function by_tiles(k, p, target)
  local lanes, columns = target:lanes "f32", p.panels * p.panel
  local task, col = k.y:split("col", columns, "guard", "task", "col_in_task")
  k.y:reorder(col, task, "n"):fuse(task, "n", "job"):parallel()
  k.y:vectorize(col, lanes, "guard")

  -- Blocks of positions are whole where tiles read them: what sticks out of x is the last position again.
  k.x_blocks:compute_root():vectorize("k", 4 * lanes, "guard"):fuse("s", "n", "block"):parallel()

  k.top:compute_at(k.y, "job"):store_in "stack":bound_extent("col", columns):vectorize("col", lanes)
  local update = k.top:update(0)
  local panel, column = update:split("col", p.panel, "guard", "panel", "column")
  update:reorder(column, "r_x", panel, "r_y"):vectorize(column, lanes):unroll(column)
  mma.in_tiles(k.acc, k.top, "panel", {
    columns = p.panel, rows = p.columns, lanes = lanes, row = "i", group = gemm.group(k.x:type()),
  })
end

return schedule "splade" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
    block = -1, -- as many as columns
  },

  params = {
    columns = tune { 4, 8, 32, default = 8 }, -- positions of a block: of a register tile, with 32 registers; by tiles 32
    panels  = tune { 1, 2, 4, 8, 16, default = 8 }, -- with tile instructions: a task
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles   = tune { "amx", "always", default = "amx" },
  },

  where = function(p, target)
    return mma.has_tiles(target) or p.tiles == "always" or gemm.tile_fits({ rows = p.columns, panel = p.panel }, target)
  end,

  versions = function(k, p, target)
    return { { columns = mma.suits(target, k.x:type(), p.tiles) and 32 or p.columns } }
  end,

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    local route = mma.suits(target, k.x:type(), p.tiles) and by_tiles or by_vectors
    route(k, p, target)
  end,
}
