-- Reductions over the columns of logits that come in panels (generators/math/panel_logits.h).

local logits = {}

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
