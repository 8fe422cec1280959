-- The front of attention on the host: projections, norms and rotation of heads, and their rows in the cache (generators/qkv_rope.cpp).

local gemm = require "lib.gemm"
local reduce = require "lib.reduce"
local rope = require "lib.rope"

local front = {}

-- What stores each projection: its name, the Func, and the stage that has the loops "i", "head" and "token"; of a cache of 8 bits the
-- scales too.
function front.projections(k)
  local function cached(name)
    local paged = k:has(name .. "_pages")
    local rows, scales = paged and k[name .. "_pages"] or k[name], nil
    if k:has("peak_" .. name) then scales = paged and k[name .. "_scale_pages"] or k[name .. "_scale"] end
    return { name = name, out = rows, stage = rows:update(0), scales = scales }
  end
  return { { name = "q", out = k.q, stage = k.q }, cached "k", cached "v" }
end

-- Has a task store some tokens of a head, with their scales.
--
--   for head: for token: for i: k; for head: for token: k_scale
--     ->
--   parallel job (a head, some tokens)
--     for token_in_job
--       for i: vectorized k
--       k_scale
--
-- to      one of projections()        tokens   of a job        lanes   SIMD lanes of the elements
function front.jobs(to, o)
  local function cut(stage, ...)
    local tile, token = stage:split("token", o.tokens, "guard", "tile", "token_in_job")
    local loops = { ... }
    for _, loop in ipairs { token, tile, "head" } do table.insert(loops, loop) end
    stage:reorder(table.unpack(loops))
    stage:fuse(tile, "head", "job"):parallel()
    return token
  end
  local token = cut(to.stage, "i")
  to.stage:vectorize("i", o.lanes, "guard")
  if to.scales then
    cut(to.scales:update(0))
    to.scales:update(0):compute_with(token)
  end
end

-- Computes a projection in tiles of registers where a job needs it: all of its rows with a panel of weights after the other.
--
--   linear(col, row) = bias + sum over k of x * w
--     ->
--   for panel of the head: for tile of rows: for part of the panel
--     acc in registers = 0
--     for k: acc += x * w                       -- rows x columns independent sums
--     linear = acc + bias                       -- in L2 or nearer
--
-- m    the number of rows of a call        o    what gemm.packed() has
function front.panels(linear, acc, m, o)
  local function tile(stage, rows)
    local panel, column = stage:split("col", o.panel, "round_up", "panel", "column")
    local tiles, row = stage:split("row", rows, "round_up", "tile", "row_in_tile")
    local part, col = stage:split(column, o.columns, "round_up", "part", "col_in_part")
    stage:reorder(col, row, part, tiles, panel)
    stage:vectorize(col, o.lanes):unroll(col)
  end
  linear:align_bounds("col", o.panel)
  tile(linear:specialize(m:at_least(o.rows)), o.rows)
  if o.rows > 4 then tile(linear:specialize(m:at_least(4)), 4) end
  tile(linear, 1)
  gemm.in_registers(acc, linear, "part", o)
  if o.stage_a then o.stage_a:in_(acc):compute_at(linear, "tile"):vectorize("k", o.lanes, "guard") end
end

-- The same of weights that are transposed: dot products along k in the SIMD lanes.
--
-- o    lanes, columns and rows of a tile
function front.dots(linear, acc, m, o)
  local function tile(stage, rows)
    local tiles, column = stage:split("col", o.columns, "round_up", "tile", "column")
    local strip, row = stage:split("row", rows, "round_up", "strip", "row_in_strip")
    stage:reorder(column, row, strip, tiles)
    stage:vectorize(column):unroll(row)
  end
  if o.rows > 1 then tile(linear:specialize(m:at_least(o.rows)), o.rows) end
  tile(linear, 1)
  gemm.sum_of_dots(linear, acc, { lanes = o.lanes, columns = o.columns, at = { linear, "strip" } })
end

-- The norm, the rotation and the scale of a head of a token, from its projection in cache: the head in L1, for what stores it.
function front.heads(k, to, lanes)
  local at = { to.out, "token_in_job" }
  if k:has("sum_sq_" .. to.name) then
    k["inv_rms_" .. to.name]:compute_at(table.unpack(at))
    reduce.in_lanes(k["sum_sq_" .. to.name], "i", { at = at, lanes = lanes, accum = 2 })
  end
  if to.name ~= "v" then rope.by_vectors(k, k["head_" .. to.name]:compute_at(table.unpack(at))) end
  if to.scales then
    k["inv_scale_" .. to.name]:compute_at(table.unpack(at))
    reduce.in_lanes(k["peak_" .. to.name], "i", { at = at, lanes = lanes, accum = 2 })
  end
end

-- The jobs of q, k and v in one parallel loop, where those of scales are not within: so that no thread waits before k and v.
function front.together(k)
  local q, keys, values = table.unpack(front.projections(k))
  if not keys.scales then q.out:side_by_side(keys.out, values.out) end
end

-- Angles that are computed, once for all heads.
function front.angles(k, lanes)
  if k:has "frequencies" then k.angle_turn:compute_root():parallel("token", 4, "guard"):vectorize("member", lanes, "guard") end
end

return front
