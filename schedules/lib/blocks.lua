-- Products with weights in blocks along k (generators/math/linear_blocks.h), on the host.

local gemm = require "lib.gemm"

local blocks = {}

local LANES = 8 -- of f32 in a vector of dot products, with AVX-512 too: weights come from memory, so half a vector does

local function funcs(k, name, parts)
  local found = {}
  for _, part in ipairs(parts) do
    local full = name .. "_" .. part
    found[part] = k:has(full) and k[full] or nil
  end
  return found
end

-- A product as the functions below take it.
--
-- acc      the Func that sums        weights, rows    what the names of their Funcs begin with: "w_gate" of w_gate_q
function blocks.product(k, acc, weights, rows)
  return {
    acc = acc,
    rows = funcs(k, rows, { "q", "minimum" }),
    w = funcs(k, weights, {
      "q", "half", "half_minimum", "small", "small_minimum", "group", "part", "scales", "minimum", "rows", "f", "block",
    }),
    quarter = funcs(k, weights, { "quarter" }).quarter,
    pair = funcs(k, weights, { "pair" }).pair,
    dot = funcs(k, weights, { "dot" }).dot,
    unit = funcs(k, weights, { "unit" }).unit,
  }
end

-- Computes rows in 8 bits and their sums (generators/math/block_rows.h), once for all columns and products.
--
-- name     what the names of their Funcs begin with        task     rows a task; nil: all of them at once, as few are
function blocks.quantised_rows(k, name, o)
  local of = funcs(k, name, { "largest", "inverse", "scale", "q", "sum", "total", "minimum" })
  if not of.q then return end
  for _, func in pairs(of) do
    func:compute_root()
    if o.task then func:parallel("row", o.task, "guard") end
  end
  for _, part in ipairs { "sum", "total" } do
    if of[part] then
      of[part]:update(0):unscheduled()
      if o.task then of[part]:update(0):parallel("row", o.task, "guard") end
    end
  end
  if o.task then of.largest:update(0):parallel("row", o.task, "guard") end
  of.largest:update(0):atomic():vectorize "k"
  of.inverse:vectorize("block", LANES)
  of.scale:vectorize("block", LANES)
  of.q:bound_extent("i", 16):bound_extent("half", 2):reorder_storage("i", "block", "half", "row"):vectorize "i":unroll "half"
end

-- One of dots(), of rows as they are: element i and i + 16 of a block in SIMD lane i.
--
--       lane in registers = 0
--       for block: lane += scale * (a * b)              -- rows x columns independent vectors
--       acc = sum of lanes
local function float_dots(out, product, o)
  local acc, col = product.acc, o.col or "col"
  local sum = acc:update(0)
  local partial = sum:rfactor("k_x", { "lane" })
  gemm.sums_of_dots(out, acc, partial, o)
  sum:atomic():vectorize "k"
  partial:reorder_storage("lane", col, "row"):vectorize "lane"
  partial:update(0):reorder("lane", col, "row", "k"):vectorize "lane"
end

-- The same with rows in 8 bits: what a vector takes of a block, or two, is added up as integers, scaled, and added to the lanes.
--
--       for chunk of 8 blocks
--         unit = scales of the weights * scales of the rows        -- one vector
--         for blocks of a vector: lane += unit * f32(dot)          -- unrolled
local function integer_dots(out, product, o)
  local w, col = product.w, o.col or "col"
  local function in_registers(func, at, loop, of)
    return func:compute_at(at, loop):store_in "stack":bound_extent(of or "col", o.columns)
  end
  local function for_tile(stage, of) return stage:unroll(of or "col"):unroll "row" end

  -- The lanes of a tile, and their sum.
  local function lanes_of(update, loops, names)
    local partial = update:rfactor(loops, names)
    for_tile(update, col)
    -- A loop that is the only one left has the name of all of them, without "_x".
    local lanes = #loops > 1 and update:fuse(loops[1], loops[2], "lanes") or "m"
    update:atomic():vectorize(lanes)
    in_registers(partial, out, "strip", col)
    local storage = { names[1], names[2] }
    storage[#storage + 1] = col
    storage[#storage + 1] = "row"
    partial:reorder_storage(table.unpack(storage))
    for_tile(partial, col):vectorize(names[1])
    return partial
  end

  local acc = in_registers(product.acc, out, "strip", col)
  for_tile(acc, col)
  local partial = lanes_of(acc:update(0), { "k_x", "k_y" }, { "lane", "part" })
  partial:vectorize "part"
  local narrow = product.pair ~= nil
  local sums = partial:update(0)
  local of_vector = w.q:type() == "i16" and 1 or 2 -- blocks
  sums:split("k_w", 8 // of_vector, "guard", "chunk", "in_chunk")
  sums:reorder("lane", "part", col, "row", "k_z", "in_chunk", "chunk"):vectorize "lane":vectorize "part"
  for_tile(sums, col):unroll "k_z":unroll "in_chunk"
  if o.ahead then sums:prefetch_ahead("chunk", o.ahead) end

  local dot = in_registers(product.dot, partial, "in_chunk"):reorder_storage("lane", "block", "scale", "col", "row")
  for_tile(dot:reorder("lane", "block", "col", "row", "scale")):vectorize "lane":vectorize "block":unroll "scale"
  local products = product.dot:update(0)
  if narrow then
    dot:bound_extent("block", 2)
    products:reorder("k", "lane", "block", "col", "row", "scale"):atomic():vectorize "k":vectorize "lane":vectorize "block"
    for_tile(products):unroll "scale"
    local pair = in_registers(product.pair, partial, "in_chunk")
    pair:reorder_storage("pair", "block", "scale", "col", "row"):bound_extent("block", 2)
    for_tile(pair):vectorize "pair":vectorize "block":unroll "scale"
    products = pair:update(0)
    products:reorder("k_x", "pair", "block", "col", "row", "k_y", "scale"):vectorize "k_x":vectorize "pair":vectorize "block"
  else
    products:reorder("k_x", "lane", "block", "col", "row", "k_y", "scale"):atomic():vectorize "k_x":vectorize "lane":vectorize "block"
  end
  for_tile(products):unroll "k_y":unroll "scale"

  in_registers(w.q, partial, "in_chunk"):reorder_storage("i", "block", "half", "col"):bound_extent("i", 16):bound_extent("half", 2)
  w.q:vectorize "i":unroll "half":unroll "col"
  -- VNNI takes two blocks at once. Stored one by one and loaded together, they would wait until both stores are done. The 32 weights of
  -- formats with blocks of 256 lie in other places, and a vector of two would be gathered byte by byte; LLVM keeps these in registers.
  local side_by_side = not narrow and of_vector == 2 and not w.small
  if side_by_side then w.q:vectorize "block" else w.q:unroll "block" end
  product.rows.q:reorder_storage("i", "block", "half", "row")

  -- What is read of blocks for their scales, one by one, and what is made of it in vectors.
  local function of_blocks(func, from, at, loop)
    in_registers(func, at, loop):bound_extent("block", 8):vectorize "block":unroll "col"
    for _, part in ipairs(from) do
      if w[part] then in_registers(w[part], at, loop):bound_extent("block", 8):unroll "block":unroll "col" end
    end
  end
  of_blocks(product.unit, { "half", "small" }, partial, "chunk")
  product.unit:unroll "row":unroll "scale"
  if w.small then w.small:unroll "scale" end
  if product.rows.minimum then
    local least = lanes_of(acc:update(1), { "m_x" }, { "lane" })
    for_tile(least:update(0):reorder("lane", col, "row", "m"), col):vectorize "lane"
    of_blocks(w.minimum, { "half_minimum", "small_minimum" }, least, "m")
  end
end

-- Computes a Func of a few rows from dot products with blocks of weights, in the SIMD lanes: the weights of a column are read once, in
-- order, and become f32 in registers, or integers for rows in 8 bits; a tile of columns shares the vectors of a row.
--
--   for row: for col: out = f(sum over blocks of a * b)
--     ->
--   parallel task (some tiles of columns)
--     for strip of rows: for tile of columns
--       for each product: acc in registers = a * b
--       out tile = f(acc)
--
-- out         the Func to tile; loops "row" and "col", or as o.col says
-- products    as blocks.product() gives them
-- m           the number of rows, an expression
-- columns, rows   of a tile, with fewer rows where there are only those          task     tiles of columns a task
-- ahead       bytes ahead of a chunk that the weights for rows in 8 bits are prefetched
-- serial      within a task already
function blocks.dots(out, products, o)
  gemm.tiles_of_dots(out, {
    m = o.m, columns = o.columns, rows = o.rows, halved = true, task = o.task, col = o.col, serial = o.serial,
  })
  for _, product in ipairs(products) do
    (product.rows.q and integer_dots or float_dots)(out, product, o)
  end
end

-- The sums of a block's products for the columns and rows of a tile, as integers.
local function integers_of_tile(product, in_tile, over_tile)
  local acc = product.acc
  over_tile(in_tile(product.dot, acc, "k_y")):unroll "scale"
  local sums = product.dot:update(0)
  if product.pair then
    over_tile(sums:reorder("k_x", "col", "row", "k_y", "scale"):atomic():vectorize "k_x"):unroll "k_y":unroll "scale"
    local pair = in_tile(product.pair, acc, "k_y"):bound_extent("pair", 2)
    over_tile(pair:reorder("pair", "col", "row", "part", "scale"):vectorize "pair"):unroll "part":unroll "scale"
    local pairs = product.pair:update(0)
    pairs:reorder("k_x", "pair", "col", "row", "k_y", "part", "scale"):vectorize "k_x":vectorize "pair"
    over_tile(pairs):unroll "k_y":unroll "part":unroll "scale"
  else
    over_tile(sums:reorder("k_x", "col", "row", "k_y", "k_z", "scale"):atomic():vectorize "k_x")
    sums:unroll "k_y":unroll "k_z":unroll "scale"
  end
end

-- What a tile of a product has in registers at a loop of a Func, and its loops over the columns of the tile.
local function of_tile(o)
  local function in_tile(func, at, loop, col)
    return func:compute_at(at, loop):store_in "stack":bound_extent(col or "col", o.columns)
  end
  local function over_columns(stage, col) return stage:vectorize(col or "col", o.lanes):unroll(col or "col") end
  local function over_tile(stage, col) return over_columns(stage, col):unroll "row" end
  return in_tile, over_columns, over_tile
end

-- Makes a panel of weights f32 at a loop: a block of some columns is unpacked along k, and turned on its way into the panel.
--
-- panel    columns of a panel        lanes    SIMD lanes
local function f32_panel(product, out, loop, o)
  local panel, rows = product.w.f, product.w.rows
  panel:compute_at(out, loop):bound_extent("col", o.panel)
  local block, i = panel:split("k", 32, "round_up", "block", "i")
  local vector, lane = panel:split("col", o.lanes, "round_up", "vector", "lane")
  panel:reorder(lane, i, vector, block):vectorize(lane)
  rows:compute_at(vector):store_in "stack":bound_extent("k", 32):bound_extent("col", o.lanes)
  rows:vectorize("k", 16):unroll "k"
end

-- Computes a Func of many rows from weights in blocks: a task makes a panel of columns f32 in L2, and then runs the register tiles of a
-- GEMM on it, for all of its rows.
--
-- products    as blocks.product() gives them        o    as gemm.register_tiles() takes it
function blocks.f32_panels(out, products, o)
  local sums = {}
  for i, product in ipairs(products) do sums[i] = product.acc end
  gemm.register_tiles(out, #sums == 1 and sums[1] or sums, o)
  for _, product in ipairs(products) do f32_panel(product, out, "job", o) end
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
-- products    as blocks.product() gives them
-- lanes    SIMD lanes        columns    of a panel and of a tile        rows    of a tile, one where there are fewer
-- task     tiles of rows a task        col      the loop of out over columns, if not "col"        serial   within a task already
function blocks.integer_panels(out, products, o)
  local col = o.col or "col"
  local function tile(stage, rows)
    local panel, column = stage:split(col, o.columns, "guard", "panel", "column")
    local tiles, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "tile", "row_in_tile")
    local task, step = stage:split(tiles, o.task, "guard", "task", "step")
    stage:reorder(column, row, step, panel, task)
    local job = stage:fuse(panel, task, "job")
    if not o.serial then job:parallel() end
    stage:vectorize(column, o.lanes, "guard"):unroll(column)
  end
  tile(out:specialize(o.m:at_least(o.rows)), o.rows)
  tile(out, 1)

  local in_tile, _, over_tile = of_tile(o)
  for _, product in ipairs(products) do
    local w = product.w
    local acc = in_tile(product.acc, out, "step", col)
    over_tile(acc, col)
    over_tile(acc:update(0):reorder(col, "row", "k_x", "k_y"), col):unroll "k_x"
    integers_of_tile(product, in_tile, over_tile)

    local group = w.q:type() == "i16" and 2 or 4
    w.group:compute_at(out, "job"):bound_extent("member", group):bound_extent("col", o.columns)
    w.group:bound_extent("group", 16 // group):bound_extent("half", 2)
    w.group:reorder("member", "group", "half", "col", "block"):vectorize "member":unroll "group":unroll "half":unroll("col", 4)
    w.q:compute_at(w.group, "col"):store_in "stack":bound_extent("i", 16):bound_extent("half", 2)
    w.q:vectorize "i":unroll "half":unroll "col"
    local function of_panel(func, from)
      func:compute_at(out, "job"):bound_extent("col", o.columns):vectorize("col", o.lanes):unroll "col"
      for _, part in ipairs(from) do
        if w[part] then in_tile(w[part], func, "block"):unroll "col" end
      end
    end
    of_panel(w.scales, { "half", "small" })
    w.scales:reorder("col", "scale", "block"):unroll "scale"
    if w.small then w.small:unroll "scale" end
    if w.minimum then of_panel(w.minimum, { "half_minimum", "small_minimum" }) end
  end
end

-- Whether there are registers for the tile of panels(), for `where`.
function blocks.panel_fits(p, target)
  if p.rows == 0 then return true end
  local lanes = target:lanes "f32"
  return p.columns % lanes == 0 and p.rows * p.columns // lanes + p.columns // lanes + 1 <= target.vector_registers
end

-- integer_panels() or f32_panels(), by what the rows are, with the tile that suits the target.
--
-- target    of the schedule        columns    of a panel        rows    of a tile; 0 where they are to be chosen
-- m, task, stage_a, shared, col, serial    as gemm.register_tiles() takes them
function blocks.panels(out, products, o)
  o.lanes = o.target:lanes "f32"
  if products[1].rows.q then
    if o.rows == 0 then o.rows = 4 end
    return blocks.integer_panels(out, products, o)
  end
  o.panel = o.columns
  o.columns, o.rows = gemm.tile(o.target, o.panel, o.rows)
  blocks.f32_panels(out, products, o)
end

-- Loops of the schedules of interleaved weights: a task has some tiles of rows of one panel of columns, or with few rows, all of them
-- of some panels, whose weights come in order.
local function interleaved_tiles(out, o)
  local name = o.col or "col"
  local function tile(stage, rows, many)
    local panel, column = stage:split(name, math.max(o.panel, o.columns), "guard", "panel", "column")
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
    if many then
      local job = stage:fuse(member, task, "job")
      if not o.serial then job:parallel() end
    elseif not o.serial then
      task:parallel()
    end
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

-- One of interleaved(), of rows in 8 bits: the sums of a block are in lanes that are columns, and so are the scales.
--
--       acc in registers = 0
--       for block
--         dot in registers = products of its 32           -- rows x columns independent sums of integers
--         acc += scales * f32(dot)
local function interleaved_integers(out, product, o)
  local in_tile, over_columns, over_tile = of_tile(o)
  local w, col = product.w, o.col or "col"
  local acc = in_tile(product.acc, out, "step", col)
  over_tile(acc, col)
  local sum = acc:update(0)
  over_tile(sum:reorder(col, "row", "k_x", "k_y"), col):unroll "k_x"
  if o.ahead then sum:prefetch_ahead("k_y", o.ahead) end
  -- Loads that are the instruction's operands as they are: what is known of the values would make other products of them.
  local group = o.unpacked_first and w.group:compute_root():parallel "block" or in_tile(w.group, acc, "k_y")
  group:bound_extent("member", 4):bound_extent("group", 4):bound_extent("half", 2):vectorize "member":unroll "group":unroll "half"
  if o.unpacked_first then group:vectorize("col", o.lanes, "guard") else over_columns(group) end
  if w.part then
    local part = in_tile(w.part, acc, "k_y"):bound_extent("member", 4):bound_extent("group", 4):bound_extent("half", 2)
    over_columns(part:bound_extent("part", 2):vectorize "member"):unroll "part":unroll "group":unroll "half"
  end
  over_columns(in_tile(w.scales, acc, "k_y")):unroll "scale"
  if w.minimum then over_columns(in_tile(w.minimum, acc, "k_y")) end
  integers_of_tile(product, in_tile, over_tile)
end

-- The same of rows as they are: weights become f32 in registers, each for the rows of a tile.
--
--       quarters in registers = 0
--       for block: for element: quarter += a * f32(w)     -- unrolled
--       acc = sum of the quarters
local function interleaved_floats(out, product, o)
  local in_tile, over_columns, over_tile = of_tile(o)
  local acc, col = product.acc, o.col or "col"
  over_tile(in_tile(acc, out, "step", col), col)
  over_tile(acc:update(0):reorder(col, "row", "k"), col):unroll "k"
  local quarter = in_tile(product.quarter, out, "step"):bound_extent("part", 4)
  over_tile(quarter:reorder("col", "row", "part")):unroll "part"
  local sum = quarter:update(0)
  over_tile(sum:reorder("col", "row", "k_x", "part", "k_y")):unroll "k_x":unroll "part"
  if o.ahead then sum:prefetch_ahead("k_y", o.ahead) end
  if o.unpacked_first then
    product.w.block:compute_root():parallel "block":vectorize("col", o.lanes, "guard")
  else
    over_columns(in_tile(product.w.block, quarter, "k_x"))
  end
end

-- Computes a Func of any number of rows from interleaved weights: SIMD lanes are columns, so that no sum is added up across lanes, and a
-- weight is unpacked where it is multiplied.
--
--   for row: for col: out = f(sum over blocks of a * b)
--     ->
--   parallel task
--     for panel of columns: for tile
--       for each product: acc in registers = a * b
--       out tile = f(acc)
--
-- out         the Func to tile; loops "row" and "col", or as o.col says
-- products    as blocks.product() gives them
-- m           the number of rows, an expression        lanes    SIMD lanes
-- panel       columns whose blocks are interleaved
-- columns, rows   of a tile, with fewer rows where there are only those        few     columns of a task then
-- task        tiles of rows a task
-- ahead       bytes ahead of a block that the weights are prefetched
-- unpacked_first    all weights go to memory as bytes or f32 first: no fusion
-- serial      within a task already
function blocks.interleaved(out, products, o)
  interleaved_tiles(out, o)
  for _, product in ipairs(products) do
    (product.rows.q and interleaved_integers or interleaved_floats)(out, product, o)
  end
end

-- Whether a schedule's tile of interleaved() leaves registers for the operands, for `where`. A vector of each tile of a panel counts, as
-- all tiles of a panel have code of their own, which is unrolled over the elements of a block.
function blocks.interleaved_fits(p, target)
  local lanes = math.min(target:lanes "f32", p.interleaved, p.columns > 0 and p.columns or p.interleaved)
  local vectors = math.max(p.interleaved, p.columns) // lanes
  return p.rows * vectors + vectors + 1 <= 32
end

-- The tiles of interleaved() that suit a target.
--
-- in_8_bits    whether the rows are
-- o            panel, m; columns and rows, 0 where they are to be chosen
function blocks.interleaved_tiles_of(target, in_8_bits, o)
  local lanes = math.min(target:lanes "f32", o.panel) -- a vector of two panels would be loaded and stored number by number
  local columns = o.columns > 0 and o.columns or lanes
  local wide = target.vector_registers >= 32
  o.lanes = math.min(lanes, columns) -- a tile of 8 columns has no vectors of 16
  o.columns = columns
  if o.rows == 0 then o.rows = in_8_bits and (wide and 8 or 4) or wide and 4 or 2 end
  return o
end

-- The ways above for the one product of an op over logits, each as logits.fused_blocks() and others take it. p: the schedule's parameters.

function blocks.logits_by_dots(k, p, m)
  blocks.quantised_rows(k, "x", {})
  return function(out, o)
    o.m, o.columns, o.rows, o.task, o.ahead = m, p.columns, p.rows, p.panel, p.ahead > 0 and p.ahead
    blocks.dots(out, { blocks.product(k, k.acc, "w", "x") }, o)
  end
end

function blocks.logits_by_panels(k, p, m, target)
  blocks.quantised_rows(k, "x", { task = 8 })
  return function(out, o)
    o.m, o.target, o.columns, o.rows, o.task = m, target, p.panel, p.rows, p.strip
    o.stage_a = k.x:type() ~= "f32" and k.x_f
    blocks.panels(out, { blocks.product(k, k.acc, "w", "x") }, o)
  end
end

function blocks.logits_interleaved(k, p, m, target)
  blocks.quantised_rows(k, "x", { task = 8 })
  return function(out, o)
    o.m, o.panel, o.columns, o.rows, o.few, o.task, o.ahead = m, p.interleaved, 0, p.rows, p.panel, p.strip, false
    blocks.interleaved(out, { blocks.product(k, k.acc, "w", "x") }, blocks.interleaved_tiles_of(target, k:has "x_q", o))
  end
end

return blocks
