-- What the schedules of sample share.

local sampling = {}

-- Of the schedules for processors.
sampling.generator = {
  search = "lists",
  panel = tune { 32, 64, 128, default = 64 }, -- tokens
  digit = tune { 1, 2, 4, default = 4 },      -- bits of a cut that a pass finds
}

-- The Funcs of a search for a cut, in order: of each digit the sums, and what is found.
--
-- name     floor_k, kth, floor_p or nucleus      kind    what a pass goes over      digit    bits of a digit
local function of_search(k, all, name, kind, digit)
  for n = 0, 32 // digit - 1 do
    local sum = name .. "_sum_" .. n
    if k:has(sum) then
      table.insert(all, { func = k[sum], kind = kind, sum = true, digits = true, phase = "limits" })
      table.insert(all, { func = k[name .. "_" .. n], kind = "row", phase = "limits" })
    end
  end
end

-- All Funcs between the logits and the token, in the order in which they are needed, each with what its update goes over:
-- "panels", "elements" of panels, "panel" (one), a few of a "scan", or of a "row" nothing; and the phase it is of: "terms" of a row, the
-- "limits" of what is kept, the last "tie" of these, and the "draw".
function sampling.stages(k, digit)
  local all, phase = {}, "terms"
  local function add(kind, names, sum)
    for _, name in ipairs(names) do
      if k:has(name) then table.insert(all, { func = k[name], kind = kind, sum = sum, name = name, phase = phase }) end
    end
  end
  add("order", { "order" })
  add("panel", { "panel_max" }, true)
  add("maxima", { "row_max" }, true)
  add("row", { "wanted", "inverse", "has_any", "top", "least", "log_min_p" })
  phase = "limits"
  of_search(k, all, "floor_k", "panels", digit)
  add("live", { "live_k" })
  add("list", { "place_k", "listed_k" })
  add("row", { "count_k" })
  of_search(k, all, "kth", "elements", digit)
  add("weights", { "weights" })
  add("elements", { "above_k", "equal_k", "above_weight_k", "equal_weight_k" }, true)
  add("row", { "places_k", "all_weight", "goal" })
  add("live", { "panel_weight" })
  of_search(k, all, "floor_p", "panels", digit)
  add("live", { "live_p" })
  add("list", { "place_p", "listed_p" })
  add("row", { "count_p" })
  of_search(k, all, "nucleus", "elements", digit)
  add("row", { "cut" })
  add("elements", { "above_p", "equal_p", "ties" }, true)
  add("row", { "limits" })
  for _, name in ipairs { "tie", "draw" } do
    phase = name
    add("panel", { name .. "_of_panel" }, true)
    add("chunk", { name .. "_of_chunk" }, true)
    add("scan", { name .. "_chunks" })
    add("row", { name .. "_goal" })
    add("few", { name .. "_chunk_number" })
    add("row", { name .. "_chunk" })
    add("scan", { name .. "_panels" })
    add("few", { name .. "_panel_number" })
    add("row", { name .. "_panel" })
    add("scan", { name .. "_elements" })
    add("few", { name .. "_element_number" })
    add("row", { name .. "_element" })
    if name == "tie" then add("row", { "last_tie" }) end
  end
  add("row", { "drawn" })
  add("all", { "exp_sum" }, true)
  return all
end

return sampling
