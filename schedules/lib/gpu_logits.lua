-- Reductions over the columns of logits that come in panels (generators/math/panel_logits.h), on a GPU.

local elementwise = require "lib.gpu_elementwise"
local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local tiles = require "lib.gpu_tiles"

local logits = {}

-- The operands of a tile of logits: rows of x, columns of a panel.
local function operands(k, p)
  return {
    a = { func = k.x_f, loop = "row", k = "k", together = "k" },
    b = { func = k.w_f, loop = "col", k = "k", together = "k" },
    rows = p.rows, columns = p.panel, depth = p.depth, col = "j", blocks = { "p" },
  }
end

-- Reduces the columns of a panel to a number for each row: those of a thread in its registers, then across the
-- threads side by side, which then all have it.
--
--   for row: for j: panel_max = max(panel_max, logits)
--     ->
--   threads: part = max(part, logits)
--   panel_max = part of the threads of a row
local function reduce_panel(func, at, p)
  local update = func:update(0)
  local j = tiles.pieces(update, "j")
  local part = update:rfactor(j.thread, { "of_thread" }):bound_extent("of_thread", 16)
  for _, sum in ipairs { func, part } do
    grid.each_thread(sum, { at = at })
    sum:bound_extent("row", p.rows):bound_extent("p", 1)
  end
  local r = tiles.pieces(func, "row")
  func:reorder(r.near, r.part, "p", r.thread):gpu_threads { "p", r.thread }:never_partition_all()
  r = tiles.pieces(update, "row")
  update:reorder(j.thread, r.near, r.part, "p", r.thread):gpu_threads { "p", r.thread }:never_partition_all()
  r = tiles.pieces(part, "row")
  part:reorder("p", r.near, r.part, "of_thread", r.thread):gpu_threads { "of_thread", r.thread }:never_partition_all()
  local sums = part:update(0)
  r = tiles.pieces(sums, "row")
  sums:reorder(j.near, j.part, "p", r.near, r.part, "of_thread", r.thread):gpu_threads { "of_thread", r.thread }
  sums:atomic():vectorize(j.near):never_partition_all()
end

-- Reduces a panel of the logits for a tile of rows with the product in registers: it is never stored.
--
--   for row: for p: for j: logits
--   for row: for p: part = reduction over j
--     ->
--   blocks p, tile_row
--     acc in registers: panel x rows
--     part = reduction over j                -- a few numbers a panel and row
--
-- k        with Funcs acc, x_f, w_f, part        p    panel; rows, depth of the schedule
-- names    of Funcs that reduce "j" for k.part; those that a variant lacks are passed over
function logits.fused(k, p, names)
  local part = k.part:compute_root()
  part:split("row", p.rows, "guard", "tile_row", "in_row")
  local r = tiles.pieces(part, "in_row")
  part:split(r.near, 4, "auto", "one", "near")
  part:reorder("near", r.part, "one", r.thread, "p", "tile_row")
  part:gpu_blocks { "p", "tile_row" }:gpu_threads { "one", r.thread }:never_partition_all()
  tiles.sums(k.acc, { part, "p" }, operands(k, p))
  for _, name in ipairs(names) do
    if k:has(name) then reduce_panel(k[name], { part, "p" }, p) end
  end
end

-- A block for each panel and tile of rows.
local function panel_blocks(func, inner, p)
  func:compute_root():split("row", p.rows, "guard", "tile_row", "in_row")
  table.insert(inner, "p")
  table.insert(inner, "tile_row")
  func:reorder(table.unpack(inner)):gpu_blocks { "p", "tile_row" }:never_partition_all()
end

-- The same on the tensor cores, with what is made of its sums.
local function tensor_blocks(func, inner, k, p)
  panel_blocks(func, inner, p)
  gemm.tensor_sums(k.acc, { func, "p" }, { rows = p.rows, columns = p.panel, stages = p.stages, raster = p.raster },
    { col = "j", others = { "p" }, ping_pong = p.ping_pong })
end

-- Each thread reduces what it has of the sums of a tile.
local function reduce_in_registers(func, at, p)
  grid.each_thread(func, { at = at })
  func:bound_extent("row", p.rows):bound_extent("p", 1):never_partition_all()
  func:update(0):reorder("j", "row", "p"):never_partition_all()
end

-- The same on the tensor cores: a panel is the columns of a tile, and each thread reduces what it has of the sums.
--
--   for row: for p: for j: logits
--   for row: for p: part = reduction over j
--     ->
--   blocks p, tile_row
--     acc in registers: panel x rows            -- gemm.tensor_tiles
--     part = reduction over j, in registers
--
-- p        panel; rows, stages and raster of gemm.tensor_tiles
function logits.on_tensor_cores(k, p, names)
  local part = k.part
  tensor_blocks(part, { "in_row" }, k, p)
  for _, name in ipairs(names) do
    if k:has(name) then reduce_in_registers(k[name], { part, "p" }, p) end
  end
end

-- Stores what is made of each logit, summed on the tensor cores, and what a panel of it is reduced to, of the same sums.
--
--   for row: for p: for j: kept = f(logits)
--   for row: for p: best = reduction of kept over j
--     ->
--   blocks p, tile_row
--     acc in registers: panel x rows
--     kept = f(acc)
--     best = reduction of f(acc) over j, in registers; stored
function logits.stored_by_tensor_cores(kept, best, k, p)
  kept:clone_in(best) -- so that it is not read back
  tensor_blocks(kept, { "j", "in_row" }, k, p)
  local stored = best:in_():compute_root()
  panel_blocks(stored, { "in_row" }, p)
  stored:compute_with(kept, "p")
  reduce_in_registers(best, { kept, "p" }, p)
end

-- What the schedules of logits on the tensor cores leave open, with the usual columns of a tile.
function logits.tensor_generator(panel)
  return {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
    panel = tune { 64, 128, 192, 256, default = panel }, -- columns of a tile
  }
end
logits.tensor_params = {
  rows   = tune { 0, 64, 128, 192, default = 0 }, -- 0: the rows of a call decide
  stages = tune { 2, 3, 4, 5, 6, default = 4 }, -- fetched ahead; a stage takes 128 (rows + panel) bytes
  raster = tune { 4, 8, 16, default = 16 },     -- rows of tiles taken together
  ping_pong = tune { false, true, default = false }, -- with 64 rows: one half of a block multiplies while the other finishes its tile
}
-- The same where numbers are added up over the columns of a panel, which tiles of other rows do in another order.
logits.tensor_params_of_sums = {
  invariant = grid.invariant, -- a row's result is the same bits for any number of rows
}
for name, choices in pairs(logits.tensor_params) do logits.tensor_params_of_sums[name] = choices end

function logits.tiles_fit(p, target)
  if p.rows == 0 then return p.stages == 4 and not p.ping_pong end
  return p.rows * p.panel <= 128 * 256 and p.stages * 128 * (p.rows + p.panel) <= target.shared_bytes - 1024
    and (p.rows == 64 or not p.ping_pong)
end

-- Few rows take tiles of 64, so that as much as there is room for is of the weights.
function logits.versions(k, p)
  if p.rows > 0 then return { {} } end
  return { { when = k.x:dim(1):extent():at_most(64), rows = 64 }, { rows = 128 } }
end

function logits.versions_of_sums(k, p)
  if p.rows == 0 and p.invariant then return { { rows = 128 } } end
  return logits.versions(k, p)
end

-- Stores all logits, or what is made of each, a block a tile.
function logits.stored(func, k, p)
  tiles.product(func:compute_root(), k.acc, operands(k, p))
end

-- The same with all logits in memory, and a pass over them: a warp reduces a panel of a row.
function logits.unfused(k, p, names)
  logits.stored(k.logits, k, p)
  local part = k.part:compute_root():gpu_blocks { "p", "row" }
  for _, name in ipairs(names) do
    if k:has(name) then
      reduce.in_block(k[name], "j", { at = { part, "p" }, threads = 32, vector = 4, unroll = 1 })
    end
  end
end

-- Finds the largest of a row in what was stored of the logits and of their panels, for the generator with search = "panels".
--
--   for row: for c: best_panels; for row: panels; for row: for n: panel_top; for row: top
--     ->
--   threads row, c: best_panels          -- of a chunk of panels, a list in registers
--   threads row, n: parts_of_panels      -- the lists of some chunks merged
--   threads row: panels                  -- all
--   threads row, n: panel_top            -- of a piece of the panels that are ranked first
--   threads row, n: parts_of_top
--   threads row: top
--   threads i, row: values, indices
--
-- A thread loads what it looks at next at once, the elements of a list or of a piece: it would wait for one after the other.
function logits.search_panels(k, p)
  local function a_thread_each(list, rows)
    elementwise.elements(list:in_():compute_root(), { rows = rows, threads = 32 })
    list:compute_at(list:in_(), "thread"):store_in "register":bound("i", 0, p.top_k)
    for _, row in ipairs(rows) do list:bound_extent(row, 1) end
  end
  local function of_lists(list, rows, lists, other)
    a_thread_each(list, rows)
    local loaded = lists:in_():in_(list):compute_at(list, "m_z"):store_in "register"
    loaded:bound_extent("i", p.top_k):bound_extent("row", 1):bound_extent(other, 1):unroll("i"):never_partition_all()
  end
  a_thread_each(k.best_panels, { "row", "c" })
  of_lists(k.parts_of_panels, { "row", "n" }, k.best_panels, "c")
  of_lists(k.panels, { "row" }, k.parts_of_panels, "n")
  a_thread_each(k.panel_top, { "row", "n" })
  for _, of_panel in ipairs { k.ranked, k.least } do
    of_panel:compute_at(k.panel_top:in_(), "thread"):store_in "register":bound_extent("row", 1)
  end
  k.ranked:bound_extent("n", 1)
  of_lists(k.parts_of_top, { "row", "n" }, k.panel_top, "n")
  of_lists(k.top, { "row" }, k.parts_of_top, "n")
  for _, out in ipairs { k.values, k.indices } do elementwise.elements(out, { rows = { "i", "row" }, threads = 128 }) end
end

-- Reduces what there is of each panel to one number a row, where each thread of a block needs it.
function logits.over_panels(k, names, at)
  for _, name in ipairs(names) do
    if k:has(name) then reduce.in_block(k[name], "p", { at = at, threads = 128, vector = 4, unroll = 1 }) end
  end
end

-- What stands behind the panels of gemm_reduce, and of linear_cross_entropy: a block a row.
function logits.reduced_rows(k)
  k.y:gpu_blocks "row"
  logits.over_panels(k, { "row_max", "row_sum" }, { k.y, "row" })
end
function logits.losses_of_rows(k)
  k.row_lse:compute_root():gpu_blocks "row"
  logits.over_panels(k, { "row_max", "row_sum" }, { k.row_lse, "row" })
  k.loss:gpu_blocks "row"
  logits.over_panels(k, { "label_logit" }, { k.loss, "row" })
  elementwise.elements(k.lse, { rows = { "row" }, threads = 128 })
end

return logits
