-- Reductions over the columns of logits that come in panels (generators/math/panel_logits.h).

local gemm = require "lib.gemm"

local logits = {}

-- Reduces each row of the logits with the product in registers: it is never stored.
--
--   for row: for p: for j: logits
--   for row: reduction over p and j
--     ->
--   parallel job (a panel p, some tiles of rows)
--     logits of a tile of rows in registers
--     part(p, row) = reduction over j        -- a few numbers a panel and row
--   parallel rows: reduction over p of part(p, row)
--
-- k        with Funcs acc, x_f, part, panel_max or panel_sum or both
-- p        panel; rows and task of the schedule        m       the number of rows, an expression
-- over_p   names of Funcs that reduce "p"; those that a variant lacks are passed over
function logits.fused(k, p, target, m, over_p)
  local tiles = gemm.packed(target, k.x, k.x_f, { m = m, panel = p.panel, rows = p.rows, task = p.task, whole = true })
  k.part:compute_root()
  gemm.reduced_tiles(k.part, k.acc, tiles)
  logits.reduce_panels(k, { "panel_max", "panel_sum" }, "row_in_tile", p.panel)
  logits.reduce_rows(k, over_p, tiles.lanes)
end

-- The same with all logits in memory, and a pass over them.
function logits.unfused(k, p, target, m, over_p)
  local tiles = gemm.packed(target, k.x, k.x_f, { m = m, panel = p.panel, whole = true })
  tiles.over = "j"
  gemm.reduced_tiles(k.logits:compute_root(), k.acc, tiles)
  k.part:compute_root():parallel "row"
  logits.reduce_panels(k, { "panel_max", "panel_sum" }, "p", p.panel)
  logits.reduce_rows(k, over_p, tiles.lanes)
end

-- fused() with weights in blocks: the logits of a panel for some tens of rows are in L1.
--
--   parallel job (a panel p, a strip of rows)
--     logits of the strip                    -- multiply()
--     for row of the strip: part(p, row) = reduction over j
--   parallel rows: reduction over p of part(p, row)
--
-- multiply(out, o)    schedules a Func that reads the products, by a function of lib.blocks; o: the loop over columns, within a task
-- panel    columns of a panel        strip    rows of a task        lanes    SIMD lanes        over_p    as above
function logits.fused_blocks(k, multiply, o)
  local strip, row = k.part:compute_root():split("row", o.strip, "guard", "strip", "row_in_strip")
  k.part:reorder(row, strip, "p"):fuse(strip, "p", "job"):parallel()
  k.acc:bound_extent("p", 1)
  multiply(k.logits:compute_at(k.part, "job"):bound_extent("p", 1):bound_extent("j", o.panel), { col = "j", serial = true })
  logits.reduce_panels(k, { "panel_max", "panel_sum" }, "row_in_strip", o.panel)
  logits.reduce_rows(k, o.over_p, o.lanes)
end

-- unfused() with weights in blocks.
function logits.unfused_blocks(k, multiply, o)
  k.acc:bound_extent("p", 1)
  multiply(k.logits:compute_root():bound_extent("j", o.panel):parallel "p", { col = "j", serial = true })
  k.part:compute_root():parallel "row"
  logits.reduce_panels(k, { "panel_max", "panel_sum" }, "p", o.panel)
  logits.reduce_rows(k, o.over_p, o.lanes)
end

-- Reduces a panel's columns, all of them SIMD lanes, for one row at a time.
--
--   for j: panel_max(p, row) = max(panel_max(p, row), logits(j, row, p))
--     ->
--   panel_max(p, row) = max of a vector of the panel's width
--
-- names    of Funcs that reduce "j" for k.part; those that a variant lacks are passed over
-- at       the loop of k.part over rows        panel    columns of a panel
function logits.reduce_panels(k, names, at, panel)
  for _, name in ipairs(names) do
    if k:has(name) then
      k[name]:compute_at(k.part, at):update(0):atomic():vectorize("j", panel)
    end
  end
end

-- Reduces what there is of each panel to one number a row, a few rows a task.
--
--   for row: for p: row_max(row) = max(row_max(row), part(p, row))
--     ->
--   parallel rows: vectorized p: row_max(row) = max(row_max(row), part(p, row))
--
-- names    of Funcs that reduce "p"; those that a variant lacks are passed over
function logits.reduce_rows(k, names, lanes)
  for _, name in ipairs(names) do
    if k:has(name) then
      local rows = k[name]:compute_root():update(0)
      rows:atomic():vectorize("p", lanes, "guard")
      rows:parallel("row", 16, "guard")
    end
  end
end

return logits
