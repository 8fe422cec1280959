-- Schedules over rows of a matrix.

local reduce = require "lib.reduce"

local rows = {}

-- Computes Funcs one after the other, each over all its rows: no fusion. What every
-- stage writes goes through memory, which is what a chain of library calls does.
--
--   for row: f(row); g(row) = f(row)
--     ->
--   parallel row: vectorized f(row)
--   parallel row: vectorized g(row) = f(row)
--
-- funcs    in any order        row     the loop made parallel
-- inner    the loop made SIMD, where a Func has it
function rows.materialise(funcs, o)
  for _, func in ipairs(funcs) do
    func:compute_root()
    func:parallel(o.row, o.task or 1, "guard")
    if o.inner then func:vectorize(o.inner, o.lanes, "guard") end
  end
end

-- Cuts the rows of an output into parallel tasks, and has the other outputs of a row in the same loop, so
-- that what they share is computed once.
--
--   for row: for col: y; for row: for col: residual_out; for row: row_scale
--     ->
--   parallel task
--     for row_in_task
--       for col: vectorized y                    -- past the caches where y is large
--       for col: vectorized residual_out         -- the same
--       row_scale
--
-- y        the output that leads          rows     a task takes          lanes   SIMD lanes of the columns
-- over_cols, over_rows    names of other outputs, [cols, rows] and [rows], where the algorithm has them
--
-- Returns the loop over the rows of a task, for compute_at.
function rows.tasks(k, y, o)
  local function split(stage)
    local task, row = stage:split("row", o.rows, "guard", "task", "row_in_task")
    task:parallel()
    return row
  end
  local row = split(y)
  y:vectorize("col", o.lanes, "guard")
  y:stream()
  for _, name in ipairs(o.over_cols or {}) do
    if k:has(name) then
      split(k[name])
      k[name]:vectorize("col", o.lanes, "guard"):compute_with(row)
      k[name]:stream()
    end
  end
  for _, name in ipairs(o.over_rows or {}) do
    if k:has(name) then
      split(k[name])
      k[name]:compute_with(row)
    end
  end
  return row
end

-- Has the task that computes a row of y compute its scales, where they are not given: one, or one for each 128 columns.
--
--   for row_in_task
--     peak of the row, or for block: peak of 128 columns
--     for col: vectorized y = f(peak)
--
-- row      the loop over the rows of a task      lanes, accum     as of reduce.in_lanes
function rows.own_scales(k, row, o)
  if not k:has "inv_scale" then return end
  k.inv_scale:compute_at(row)
  reduce.in_lanes(k.peak, "col", { at = row, lanes = o.lanes, accum = o.accum })
end

-- What a product is to be stored in, before its rows are rounded by scales of their own if they are: k.h, or else k.y itself.
--
--   h; for row: peak; for row: for col: y = f(h, peak)
--     ->
--   h                                                           -- the caller's business
--   parallel task
--     for row_in_task: as own_scales() has it
function rows.quantised_after(k, target)
  if not k:has "h" then return k.y end
  local lanes = target:lanes "f32"
  local row = rows.tasks(k, k.y, { rows = 8, lanes = lanes, over_rows = { "row_scale", "block_scale" } })
  rows.own_scales(k, row, { lanes = lanes, accum = 4 })
  return k.h:compute_root()
end

-- Scales of rows or blocks with a pass over all rows for each stage.
function rows.own_scales_in_passes(k, lanes)
  if not k:has "inv_scale" then return end
  rows.materialise({ k.peak, k.inv_scale, k:has "row_scale" and k.row_scale or k.block_scale }, { row = "row", task = 8 })
  k.peak:update(0):atomic():vectorize("col", 4 * lanes, "guard"):parallel("row", 8, "guard")
end

-- Rounds the rows of a matrix, each by a scale of its own, once for all products that read them.
--
--   for row: peak; for row: for col: q = f(col, row) / peak(row); for row: scale = f(peak(row))
--     ->
--   parallel task
--     for row_in_task
--       peak, and what else is reduced over the row
--       for col: vectorized q
--       scale
--
-- q, scale    Funcs over [col, row] and over [row]       lanes   SIMD lanes of the columns
-- sums        Funcs that reduce "k" for them             values  others over [row]
function rows.quantise(q, scale, o)
  local function split(stage)
    local task, row = stage:compute_root():split("row", 8, "guard", "task", "row_in_task")
    task:parallel()
    return row
  end
  local row = split(q)
  q:vectorize("col", o.lanes, "guard")
  split(scale)
  scale:compute_with(row)
  for _, value in ipairs(o.values) do value:compute_at(row) end
  for _, sum in ipairs(o.sums) do
    reduce.in_lanes(sum, "k", { at = row, lanes = o.lanes, accum = 4 })
  end
end

return rows
