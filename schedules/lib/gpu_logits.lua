-- Reductions over the columns of logits that come in panels (generators/math/panel_logits.h), on a GPU.

local gpu = require "lib.gpu"
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
    gpu.each_thread(sum, { at = at })
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

-- A block of the tensor cores for each panel and tile of rows, with what is made of its sums.
local function tensor_blocks(func, inner, k, p)
  func:compute_root():split("row", p.rows, "guard", "tile_row", "in_row")
  table.insert(inner, "p")
  table.insert(inner, "tile_row")
  func:reorder(table.unpack(inner)):gpu_blocks { "p", "tile_row" }:never_partition_all()
  gpu.tensor_sums(k.acc, { func, "p" }, { rows = p.rows, columns = p.panel, stages = p.stages, group = p.group }, { col = "j", others = { "p" } })
end

-- The same on the tensor cores: a panel is the columns of a tile, and each thread reduces what it has of the sums.
--
--   for row: for p: for j: logits
--   for row: for p: part = reduction over j
--     ->
--   blocks p, tile_row
--     acc in registers: panel x rows            -- gpu.tensor_tiles
--     part = reduction over j, in registers
--
-- p        panel; rows, stages and group of gpu.tensor_tiles
function logits.on_tensor_cores(k, p, names)
  local part = k.part
  tensor_blocks(part, { "in_row" }, k, p)
  for _, name in ipairs(names) do
    if k:has(name) then
      local func = k[name]
      gpu.each_thread(func, { at = { part, "p" } })
      func:bound_extent("row", p.rows):bound_extent("p", 1):never_partition_all()
      func:update(0):reorder("j", "row", "p"):never_partition_all()
    end
  end
end

-- Stores all logits, or what is made of each, summed on the tensor cores.
function logits.stored_by_tensor_cores(func, k, p)
  tensor_blocks(func, { "j", "in_row" }, k, p)
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
  rows   = tune { 64, 128, 192, default = 128 },
  stages = tune { 2, 3, 4, 5, 6, default = 4 }, -- fetched ahead; a stage takes 128 (rows + panel) bytes
  group  = tune { 4, 8, 16, default = 16 },     -- rows of tiles taken together
}
function logits.tiles_fit(p)
  return p.stages * 128 * (p.rows + p.panel) <= 226 * 1024
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
      gpu.reduce(k[name], "j", { at = { part, "p" }, threads = 32, vector = 4, unroll = 1 })
    end
  end
end

-- Reduces what there is of each panel to one number a row, where each thread of a block needs it.
function logits.over_panels(k, names, at)
  for _, name in ipairs(names) do
    if k:has(name) then gpu.reduce(k[name], "p", { at = at, threads = 128, vector = 4, unroll = 1 }) end
  end
end

return logits
