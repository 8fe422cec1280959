-- Products of experts on the host.

local gemm = require "lib.gemm"

local experts = {}

-- What each slot is: which expert, from which row, how many; before all tasks.
function experts.slots(k, target)
  local lanes = target:lanes "i32"
  for _, name in ipairs { "slot_expert", "slot" } do k[name]:compute_root():vectorize("t", lanes, "guard") end
  k.slot_expert:update(0):reorder("t", "bit"):vectorize("t", lanes, "guard")
  if k:has "pair" then k.pair:compute_root() end
end

local function products(k)
  return k:has "gate" and { "gate", "up" } or { "acc" }
end

-- Cuts the rows of slots as they go to y, or to the sums of tokens, into panels of columns and these into parts.
--
--   for slot: for row: for col: y
--     ->
--   parallel panel: for slot: if it has rows: for whole: for part: for row: for vector of col: y
--
-- The loop "whole" has one turn: what is computed at the slots themselves is computed for those without rows, too.
-- Returns the Func with these loops.
local function out_of(k, o)
  local function cut(stage)
    local _, column = stage:split("col", o.panel, "guard", "panel", "column")
    local _, in_whole = stage:split(column, o.panel, "guard", "whole", "in_whole")
    local _, col = stage:split(in_whole, o.columns, "guard", "part", "col_in_part")
    stage:reorder(col, "r_x", "part", "whole", "r_y", "panel"):vectorize(col, o.lanes, "guard")
    return stage
  end
  if not k:has "sum" then
    cut(k.y:update(0)):parallel "panel"
    k.y:update(1):vectorize("col", o.lanes, "guard")
    return k.y
  end
  -- A panel of the sums of all tokens is in cache while the experts' rows are added.
  k.y:split("col", o.panel, "guard", "panel", "column")
  k.y:reorder("column", "row", "panel"):parallel("panel"):vectorize("column", o.lanes, "guard")
  k.sum:compute_at(k.y, "panel"):bound_extent("col", o.panel):vectorize("col", o.lanes)
  cut(k.sum:update(0))
  return k.sum
end

-- The sums of the experts' products in registers.
--
--   for slot: for row: for col: z = f(sum over k of x * w)
--     ->
--   parallel panel
--     for slot: for tile of columns
--       acc in registers = 0
--       for k: acc += x * w
--       y rows = f(acc)
function experts.panels(k, p, target)
  local tiles = gemm.packed(target, k.x, k.x_f, { panel = p.panel, rows = p.tile, tiles = "never" })
  local out = out_of(k, { panel = p.panel, columns = tiles.columns, lanes = tiles.lanes })
  k.source:compute_at(out, "whole")
  if tiles.stage_a then
    k.x_f:compute_at(out, "whole"):vectorize("k", tiles.lanes, "guard")
  end
  k.z:compute_at(out, "part")
  k.z:store_in "stack":bound_extent("col", tiles.columns):vectorize("col", tiles.lanes):unroll "col":unroll "i"
  tiles.row = "i"
  for _, name in ipairs(products(k)) do
    gemm.in_registers(k[name], k.z, "t", tiles)
    gemm.in_registers(k[name .. "_one"], k.z, "t", tiles)
  end
end

-- The same of weights that are transposed, by dot products along k in the SIMD lanes.
--
--   parallel task (some tiles of columns)
--     for slot: for tile of columns
--       lane in registers = 0
--       for k in steps of a vector: lane += x * w     -- rows x columns independent vectors
--       y rows = f(sum of lanes)
function experts.dots(k, p, target)
  local lanes = target:lanes "f32"
  local out = out_of(k, { panel = p.columns * p.task, columns = p.columns, lanes = p.columns })
  k.source:compute_at(out, "whole")
  k.z:compute_at(out, "part")
  k.z:store_in "stack":bound_extent("col", p.columns):vectorize "col":unroll "i"
  for _, name in ipairs(products(k)) do
    local sum = k[name]:update(0)
    local _, lane = sum:split("k", lanes, "guard", "step", "part")
    local partial = sum:rfactor(lane, { "lane" })
    for _, dots in ipairs { k[name], partial } do
      dots:compute_at(k.z, "t"):store_in "stack":bound_extent("col", p.columns)
      for _, stage in ipairs { dots, dots:update(0) } do stage:unroll "col":unroll "i" end
    end
    sum:atomic():vectorize(lane)
    partial:reorder_storage("lane", "col", "i"):vectorize "lane"
    partial:update(0):reorder("lane", "col", "i", "step"):vectorize "lane"
  end
end

-- The products of all slots in memory, and each step that follows.
--
--   for slot: for panel: for row: for col: acc; for slot: activated; for slot: z; for slot: y
function experts.in_memory(k, p, target)
  local tiles = gemm.packed(target, k.x, k.x_f, { panel = p.panel, rows = p.tile, tiles = "never" })
  local lanes = tiles.lanes
  tiles.row = "i"
  k.source:compute_root()
  if tiles.stage_a then k.x_f:compute_root():parallel "t":vectorize("k", lanes, "guard") end
  for _, name in ipairs(products(k)) do
    local product = k[name]:in_():compute_root()
    product:bound_extent("i", p.tile)
    local _, column = product:split("col", p.panel, "guard", "panel", "column")
    local _, col = product:split(column, tiles.columns, "guard", "part", "col_in_part")
    product:reorder(col, "i", "part", "panel", "t"):vectorize(col, lanes, "guard")
    product:fuse("panel", "t", "job"):parallel()
    gemm.in_registers(k[name], product, "part", tiles)
  end
  for _, name in ipairs { "activated", "z" } do
    k[name]:compute_root():parallel "t":vectorize("col", lanes, "guard")
  end
  local out = k.y
  if k:has "sum" then
    out = k.sum
    k.sum:compute_root():vectorize("col", lanes, "guard")
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  else
    k.y:update(1):vectorize("col", lanes, "guard")
  end
  local rows = out:update(0)
  local _, column = rows:split("col", p.panel, "guard", "panel", "column")
  rows:reorder(column, "r_x", "r_y", "panel"):parallel "panel":vectorize(column, lanes, "guard")
end

return experts
