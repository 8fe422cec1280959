-- Products with weights in interleaved blocks (halyard_interleave_blocks) on a GPU.

local gemm_q = {}

-- Computes a Func of few rows by threads, which have neighbouring columns of a panel, elements of a word, and some blocks of the depth: a
-- load brings the words of `near` columns, which become f32 in registers, for all rows.
--
--   for row: for col: y = f(sum over k of a * w)
--     ->
--   blocks panel, strip of rows
--     threads lanes, group, part: partial of near columns in registers = 0
--       for block of the part: for half: for member: for row: partial += a * w
--     threads: partials = partial                                       -- in shared memory
--     threads lane, row: y = f(sum of the partials)
--
-- y       the Func of the results        partial    the sums of parts of the depth (generators/math/panel_weights.h)
-- p       interleaved: columns of a panel        near: of a thread        rows: of a strip        parts        format
-- o       weights: what weights() gives for each matrix        a: the Func of the rows
--         factors: one over "k" that they are multiplied by
function gemm_q.by_threads(y, partial, p, o)
  local along = p.interleaved // p.near -- threads side by side, in the shape of those of the sums
  y:split("col", p.interleaved, "guard", "panel", "column")
  y:split("row", p.rows, "guard", "strip", "row_in_strip")
  y:split("column", along, "auto", "column_y", "column_x")
  y:reorder("column_x", "column_y", "row_in_strip", "panel", "strip")
  y:gpu_blocks { "panel", "strip" }:gpu_threads { "column_x", "column_y", "row_in_strip" }:never_partition_all()

  local partials = partial:in_():compute_at(y, "panel"):store_in "gpu_shared"
  partial:compute_at(y, "panel"):store_in "register"
  for _, func in ipairs { partials, partial } do
    func:bound_extent("lane", p.interleaved):bound_extent("panel", 1):bound_extent("row", p.rows)
    func:bound_extent("group", 4):bound_extent("part", p.parts)
  end
  local threads = { "lanes", "group", "part" }
  local function by_threads(stage, loops)
    stage:split("lane", p.near, "auto", "lanes", "near")
    local order = { "near", "row", table.unpack(loops) }
    for _, loop in ipairs(threads) do table.insert(order, loop) end
    stage:reorder(table.unpack(order)):vectorize("near"):unroll("row"):gpu_threads(threads):never_partition_all()
  end
  by_threads(partials, {})
  by_threads(partial, {})
  local sum = partial:update(0)
  by_threads(sum, { "k_x", "k_y", "k_z" })
  sum:unroll("k_x"):unroll("k_y")

  local function in_thread(func, loop)
    return func:compute_at(partial, loop):store_in "register":never_partition_all()
  end
  local function loaded(func, loop, bytes) in_thread(func, loop):bound_extent("byte", bytes):bound_extent("panel", 1):vectorize "byte" end
  local function of_lanes(func, loop) in_thread(func, loop):bound_extent("lane", p.near):bound_extent("panel", 1):unroll "lane" end
  for _, w in ipairs(o.weights) do
    -- A word of weights of 4 bits has those of both halves.
    loaded(w.bytes, p.format == "q8_0" and "k_y" or "k_z", 4 * p.near)
    for _, halves in ipairs(w.halves) do
      loaded(halves.bytes, "k_z", 2 * p.near)
      of_lanes(halves.value, "k_z")
    end
    of_lanes(w.element, "k_x")
  end
  in_thread(o.a, "k_y"):bound_extent("k", 4):bound_extent("row", p.rows):vectorize "k":unroll "row"
  if o.factors then in_thread(o.factors, "k_y"):bound_extent("k", 4):vectorize "k" end
end

-- The Funcs of a matrix whose names begin so (generators/math/panel_weights.h), for by_threads().
function gemm_q.weights(k, name)
  local halves = {}
  for _, kind in ipairs { "_scale", "_minimum" } do
    if k:has(name .. kind) then table.insert(halves, { bytes = k[name .. kind .. "_bytes"], value = k[name .. kind] }) end
  end
  return { bytes = k[name .. "_bytes"], halves = halves, element = k[name .. "_element"] }
end

-- Versions by the rows of a call, as many of which a thread has.
function gemm_q.versions_of_few(k, p)
  if p.rows > 0 then return { {} } end
  local m, versions = k.y:dim(1):extent(), {}
  for _, rows in ipairs { 1, 2, 4 } do table.insert(versions, { when = m:at_most(rows), rows = rows }) end
  table.insert(versions, { rows = 8 })
  return versions
end

-- Unpacks all weights to f32 in a kernel of its own, along k, as tensor cores fetch them.
--
--   for col: for k: w_f
--     ->
--   blocks part of the depth, panel
--     threads word, column: w_f of four neighbours along k
--
-- interleaved    columns of a panel
function gemm_q.unpack(k, p)
  local w = k.w_f:compute_root()
  w:split("col", p.interleaved, "guard", "panel", "column")
  w:split("k", 128, "guard", "part", "in_part")
  w:split("in_part", 4, "round_up", "word", "member")
  w:reorder("member", "word", "column", "part", "panel"):vectorize "member"
  w:gpu_blocks { "part", "panel" }:gpu_threads { "word", "column" }:never_partition_all()
end

return gemm_q
