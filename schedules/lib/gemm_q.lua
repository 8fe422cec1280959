-- Products with weights in blocks along k, on the host.

local gemm = require "lib.gemm"

local gemm_q = {}

local LANES = 8 -- of f32 in a vector of dot products, with AVX-512 too: weights come from memory, so half a vector does

-- Computes a Func from dot products with blocks of weights: element i and i + 16 of a block in SIMD lane i.
--
--   for row: for col: out = f(sum over blocks of a * b)
--     ->
--   parallel task (some tiles of columns)
--     for strip of rows: for tile of columns
--       lane in registers = 0
--       for block: lane += scale * (a * b)              -- rows x columns independent vectors
--       out tile = f(sum of lanes)
--
-- out      the Func to tile; loops "row" and "col"        acc    the Func that sums over "k_x", the lanes, and "k_y", the blocks
-- m        the number of rows, an expression
-- columns, rows   of a tile, with fewer rows where there are only those          task     tiles of columns a task
function gemm_q.dot_products(out, acc, o)
  gemm.tiles_of_dots(out, { m = o.m, columns = o.columns, rows = o.rows, halved = true, task = o.task })

  local sum = acc:update(0)
  local partial = sum:rfactor("k_x", { "lane" })
  gemm.sums_of_dots(out, acc, partial, o)
  sum:atomic():vectorize "k"
  partial:reorder_storage("lane", "col", "row"):vectorize "lane"
  partial:update(0):reorder("lane", "col", "row", "k"):vectorize "lane"
  return partial
end

-- Makes a panel of weights f32 at a loop of y: a block of some columns is unpacked along k, and turned on its way into the panel.
--
-- panel    columns of a panel        lanes    SIMD lanes
function gemm_q.f32_panel(k, loop, o)
  k.w_f:compute_at(k.y, loop):bound_extent("col", o.panel)
  local block, i = k.w_f:split("k", 32, "round_up", "block", "i")
  local vector, lane = k.w_f:split("col", o.lanes, "round_up", "vector", "lane")
  k.w_f:reorder(lane, i, vector, block):vectorize(lane)
  k.w_rows:compute_at(vector):store_in "stack":bound_extent("k", 32):bound_extent("col", o.lanes)
  k.w_rows:vectorize("k", 16):unroll "k"
end

-- Computes rows in 8 bits and their sums (generators/math/quantized_rows.h), once for all columns.
--
-- task     rows a task; nil: all of them at once, as few are
function gemm_q.quantised_rows(k, o)
  for _, name in ipairs { "a_largest", "a_inverse", "a_scale", "a_q", "a_sum", "a_total", "a_minimum" } do
    if k:has(name) then
      k[name]:compute_root()
      if o.task then k[name]:parallel("row", o.task, "guard") end
    end
  end
  for _, name in ipairs { "a_sum", "a_total" } do
    if k:has(name) then
      k[name]:update(0):unscheduled()
      if o.task then k[name]:update(0):parallel("row", o.task, "guard") end
    end
  end
  if o.task then k.a_largest:update(0):parallel("row", o.task, "guard") end
  k.a_largest:update(0):atomic():vectorize "k"
  k.a_inverse:vectorize("block", LANES)
  k.a_scale:vectorize("block", LANES)
  k.a_q:bound_extent("i", 16):bound_extent("half", 2):vectorize "i":unroll "half"
end

-- dot_products() with rows in 8 bits: what a vector takes of a block, or two, is added up as integers, scaled, and added to the lanes.
--
--       for chunk of 8 blocks
--         unit = scales of the weights * scales of the rows        -- one vector
--         for blocks of a vector: lane += unit * f32(dot)          -- unrolled
--
-- k        the Funcs by name (generators/math/block_product.h)
-- ahead    bytes ahead of a chunk that the weights are prefetched
function gemm_q.integer_dots(out, k, o)
  gemm.tiles_of_dots(out, { m = o.m, columns = o.columns, rows = o.rows, halved = true, task = o.task })

  local function in_registers(func, at, loop)
    return func:compute_at(at, loop):store_in "stack":bound_extent("col", o.columns)
  end
  local function for_tile(stage) return stage:unroll "col":unroll "row" end

  -- The lanes of a tile, and their sum.
  local function lanes_of(update, loops, names)
    local partial = update:rfactor(loops, names)
    for_tile(update)
    -- A loop that is the only one left has the name of all of them, without "_x".
    local lanes = #loops > 1 and update:fuse(loops[1], loops[2], "lanes") or "m"
    update:atomic():vectorize(lanes)
    in_registers(partial, out, "strip")
    local storage = { names[1], names[2] }
    storage[#storage + 1] = "col"
    storage[#storage + 1] = "row"
    partial:reorder_storage(table.unpack(storage))
    for_tile(partial):vectorize(names[1])
    return partial
  end

  local acc = in_registers(k.acc, out, "strip")
  for_tile(acc)
  local partial = lanes_of(acc:update(0), { "k_x", "k_y" }, { "lane", "part" })
  partial:vectorize "part"
  local narrow = k:has "pair"
  local sums = partial:update(0)
  local blocks = k.w_q:type() == "i16" and 1 or 2 -- of a vector
  sums:split("k_w", 8 // blocks, "guard", "chunk", "in_chunk")
  sums:reorder("lane", "part", "col", "row", "k_z", "in_chunk", "chunk"):vectorize "lane":vectorize "part"
  for_tile(sums):unroll "k_z":unroll "in_chunk"
  if o.ahead then sums:prefetch_ahead("chunk", o.ahead) end

  local dot = in_registers(k.dot, partial, "in_chunk"):reorder_storage("lane", "block", "scale", "col", "row")
  for_tile(dot:reorder("lane", "block", "col", "row", "scale")):vectorize "lane":vectorize "block":unroll "scale"
  local products = k.dot:update(0)
  if narrow then
    dot:bound_extent("block", 2)
    products:reorder("k", "lane", "block", "col", "row", "scale"):atomic():vectorize "k":vectorize "lane":vectorize "block"
    for_tile(products):unroll "scale"
    in_registers(k.pair, partial, "in_chunk"):reorder_storage("pair", "block", "scale", "col", "row"):bound_extent("block", 2)
    for_tile(k.pair):vectorize "pair":vectorize "block":unroll "scale"
    products = k.pair:update(0)
    products:reorder("k_x", "pair", "block", "col", "row", "k_y", "scale"):vectorize "k_x":vectorize "pair":vectorize "block"
  else
    products:reorder("k_x", "lane", "block", "col", "row", "k_y", "scale"):atomic():vectorize "k_x":vectorize "lane":vectorize "block"
  end
  for_tile(products):unroll "k_y":unroll "scale"

  in_registers(k.w_q, partial, "in_chunk"):reorder_storage("i", "block", "half", "col"):bound_extent("i", 16):bound_extent("half", 2)
  k.w_q:vectorize "i":unroll "half":unroll "col"
  -- VNNI takes two blocks at once. Stored one by one and loaded together, they would wait until both stores are done. The 32 weights of
  -- formats with blocks of 256 lie in other places, and a vector of two would be gathered byte by byte; LLVM keeps these in registers.
  local side_by_side = not narrow and blocks == 2 and not k:has "w_small"
  if side_by_side then k.w_q:vectorize "block" else k.w_q:unroll "block" end
  k.a_q:reorder_storage("i", "block", "half", "row")

  -- What is read of blocks for their scales, one by one, and what is made of it in vectors.
  local function of_blocks(func, from, at, loop)
    in_registers(func, at, loop):bound_extent("block", 8):vectorize "block":unroll "col"
    for _, name in ipairs(from) do
      if k:has(name) then in_registers(k[name], at, loop):bound_extent("block", 8):unroll "block":unroll "col" end
    end
  end
  of_blocks(k.unit, { "w_half", "w_small" }, partial, "chunk")
  k.unit:unroll "row":unroll "scale"
  if k:has "w_small" then k.w_small:unroll "scale" end
  if k:has "a_minimum" then
    local least = lanes_of(acc:update(1), { "m_x" }, { "lane" })
    for_tile(least:update(0):reorder("lane", "col", "row", "m")):vectorize "lane"
    of_blocks(k.w_minimum, { "w_half_minimum", "w_small_minimum" }, least, "m")
  end
end

-- The sums of a block's products for the columns and rows of a tile, as integers.
local function integers_of_tile(k, in_tile, over_tile)
  over_tile(in_tile(k.dot, k.acc, "k_y")):unroll "scale"
  local sums = k.dot:update(0)
  if k:has "pair" then
    over_tile(sums:reorder("k_x", "col", "row", "k_y", "scale"):atomic():vectorize "k_x"):unroll "k_y":unroll "scale"
    local pair = in_tile(k.pair, k.acc, "k_y"):bound_extent("pair", 2)
    over_tile(pair:reorder("pair", "col", "row", "part", "scale"):vectorize "pair"):unroll "part":unroll "scale"
    local products = k.pair:update(0)
    products:reorder("k_x", "pair", "col", "row", "k_y", "part", "scale"):vectorize "k_x":vectorize "pair"
    over_tile(products):unroll "k_y":unroll "part":unroll "scale"
  else
    over_tile(sums:reorder("k_x", "col", "row", "k_y", "k_z", "scale"):atomic():vectorize "k_x")
    sums:unroll "k_y":unroll "k_z":unroll "scale"
  end
end

-- Computes a Func of many rows in 8 bits: the weights of a panel of columns are laid out once a task, four neighbours along k of each
-- column beside those of the next, so that a vector of them is multiplied by four elements of a row.
--
--   for row: for col: out = f(sum over blocks of a * b)
--     ->
--   parallel job (some tiles of rows, a panel of columns)
--     group = weights of the panel
--     for tile of rows
--       acc in registers = 0
--       for block
--         dot in registers = products of its 32           -- rows x columns independent sums of integers
--         acc += scales * f32(dot)
--       out tile = f(acc)
--
-- Panels go by first, so that the rows of a task stay in L2.
-- lanes    SIMD lanes        columns    of a panel and of a tile        rows    of a tile, one where there are fewer
-- task     tiles of rows a task
function gemm_q.integer_panels(out, k, o)
  local function tile(stage, rows)
    local panel, column = stage:split("col", o.columns, "guard", "panel", "column")
    local tiles, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "tile", "row_in_tile")
    local task, step = stage:split(tiles, o.task, "guard", "task", "step")
    stage:reorder(column, row, step, panel, task)
    stage:fuse(panel, task, "job"):parallel()
    stage:vectorize(column, o.lanes, "guard"):unroll(column)
  end
  tile(out:specialize(o.m:at_least(o.rows)), o.rows)
  tile(out, 1)

  local function in_tile(func, at, loop) return func:compute_at(at, loop):store_in "stack":bound_extent("col", o.columns) end
  local function over_columns(stage) return stage:vectorize("col", o.lanes):unroll "col":unroll "row" end

  local acc = in_tile(k.acc, out, "step")
  over_columns(acc)
  over_columns(acc:update(0):reorder("col", "row", "k_x", "k_y")):unroll "k_x"
  integers_of_tile(k, in_tile, over_columns)

  local group = k.w_q:type() == "i16" and 2 or 4
  k.w_group:compute_at(out, "job"):bound_extent("member", group):bound_extent("col", o.columns)
  k.w_group:bound_extent("group", 16 // group):bound_extent("half", 2)
  k.w_group:reorder("member", "group", "half", "col", "block"):vectorize "member":unroll "group":unroll "half":unroll("col", 4)
  k.w_q:compute_at(k.w_group, "col"):store_in "stack":bound_extent("i", 16):bound_extent("half", 2)
  k.w_q:vectorize "i":unroll "half":unroll "col"
  local function of_panel(func, from)
    func:compute_at(out, "job"):bound_extent("col", o.columns):vectorize("col", o.lanes):unroll "col"
    for _, name in ipairs(from) do
      if k:has(name) then in_tile(k[name], func, "block"):unroll "col" end
    end
  end
  of_panel(k.w_scale, { "w_half", "w_small" })
  k.w_scale:reorder("col", "scale", "block"):unroll "scale"
  if k:has "w_small" then k.w_small:unroll "scale" end
  if k:has "w_minimum" then of_panel(k.w_minimum, { "w_half_minimum", "w_small_minimum" }) end
end

-- Loops of the schedules of interleaved weights: a task has some tiles of rows of one panel of columns, or with few rows, all of them
-- of some panels, whose weights come in order.
--
-- panel    columns whose blocks are interleaved
-- columns, rows   of a tile, with fewer rows where there are only those        few     columns of a task then
-- task     tiles of rows a task
local function interleaved_tiles(out, o)
  local function tile(stage, rows, many)
    local panel, column = stage:split("col", math.max(o.panel, o.columns), "guard", "panel", "column")
    local strip, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", many and "strip" or "step", "row_in_strip")
    -- A part of a panel is a number where the code is made, or its blocks would be gathered.
    local part = o.columns < o.panel and stage:split(column, o.columns, "guard", "part", "column")
    local task, member
    if many then
      task, strip = stage:split(strip, o.task, "guard", "task", "step")
      member = panel
    else
      task, member = stage:split(panel, math.max(o.few // math.max(o.panel, o.columns), 1), "guard", "task", "member")
    end
    if part then
      stage:reorder("column", row, strip, part, member, task):unroll(part)
    else
      stage:reorder("column", row, strip, member, task)
    end
    if many then stage:fuse(member, task, "job"):parallel() else task:parallel() end
    stage:vectorize("column", o.lanes, "guard"):unroll "column"
  end
  tile(out:specialize(o.m:at_least(2 * o.rows)), o.rows, true)
  local rows = o.rows
  while rows > 1 do
    tile(out:specialize(o.m:at_least(rows)), rows)
    rows = rows // 2
  end
  tile(out, 1)
end

-- Computes a Func of rows in 8 bits and interleaved weights: the sums of a block are in lanes that are columns, and so are the scales.
--
--       for tile: acc in registers = 0
--         for block
--           dot in registers = products of its 32           -- rows x columns independent sums of integers
--           acc += scales * f32(dot)
--
-- ahead    bytes ahead of a block that the weights are prefetched
-- unpacked_first    all weights go to memory as bytes first: no fusion
function gemm_q.interleaved_integers(out, k, o)
  interleaved_tiles(out, o)
  local function in_tile(func, at, loop) return func:compute_at(at, loop):store_in "stack":bound_extent("col", o.columns) end
  local function over_columns(stage) return stage:vectorize("col", o.lanes):unroll "col" end
  local function over_tile(stage) return over_columns(stage):unroll "row" end

  local acc = in_tile(k.acc, out, "step")
  over_tile(acc)
  local sum = acc:update(0)
  over_tile(sum:reorder("col", "row", "k_x", "k_y")):unroll "k_x"
  if o.ahead then sum:prefetch_ahead("k_y", o.ahead) end
  -- Loads that are the instruction's operands as they are: what is known of the values would make other products of them.
  local group = o.unpacked_first and k.w_group:compute_root():parallel "block" or in_tile(k.w_group, acc, "k_y")
  group:bound_extent("member", 4):bound_extent("group", 4):bound_extent("half", 2):vectorize "member":unroll "group":unroll "half"
  if o.unpacked_first then group:vectorize("col", o.lanes, "guard") else over_columns(group) end
  if k:has "w_part" then
    local part = in_tile(k.w_part, acc, "k_y"):bound_extent("member", 4):bound_extent("group", 4):bound_extent("half", 2)
    over_columns(part:bound_extent("part", 2):vectorize "member"):unroll "part":unroll "group":unroll "half"
  end
  over_columns(in_tile(k.w_scale, acc, "k_y"))
  if k:has "w_minimum" then over_columns(in_tile(k.w_minimum, acc, "k_y")) end
  integers_of_tile(k, in_tile, over_tile)
end

-- The same of rows as they are: weights become f32 in registers, each for the rows of a tile.
--
--       for tile: quarters in registers = 0
--         for block: for element: quarter += a * f32(w)     -- unrolled
--         out tile = f(sum of the quarters)
--
-- unpacked_first    all weights go to memory as f32 first: no fusion
function gemm_q.interleaved_floats(out, k, o)
  interleaved_tiles(out, o)
  local function in_tile(func, at, loop) return func:compute_at(at, loop):store_in "stack":bound_extent("col", o.columns) end
  local function over_tile(stage) return stage:vectorize("col", o.lanes):unroll "col":unroll "row" end

  over_tile(in_tile(k.acc, out, "step"))
  over_tile(k.acc:update(0):reorder("col", "row", "k")):unroll "k"
  local quarter = in_tile(k.quarter, out, "step"):bound_extent("part", 4)
  over_tile(quarter:reorder("col", "row", "part")):unroll "part"
  local sum = quarter:update(0)
  over_tile(sum:reorder("col", "row", "k_x", "part", "k_y")):unroll "k_x":unroll "part"
  if o.ahead then sum:prefetch_ahead("k_y", o.ahead) end
  if o.unpacked_first then
    k.w_block:compute_root():parallel "block":vectorize("col", o.lanes, "guard")
  else
    in_tile(k.w_block, quarter, "k_x"):vectorize("col", o.lanes):unroll "col"
  end
end

return gemm_q
