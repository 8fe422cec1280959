-- Matrix products on the host.

local mma = require "lib.mma"
local processor = require "lib.processor"

local gemm = {}

-- The columns that a step over groups takes at once: two vectors, where that divides a tile. Halide 21 loads the
-- last of some steps together with all before it, and at the fourth gathers element by element instead.
local function dot_lanes(columns, lanes)
  return columns % (2 * lanes) == 0 and 2 * lanes or lanes
end

-- How many bytes ahead of a step the weights are prefetched: so many that the next page is on its way when a step comes to the end of
-- one. The distance is whole rows of the panel: with another one, a tile of a part of the panel might prefetch another part.
local function ahead(panel)
  local row_bytes = 4 * panel
  return (8192 + row_bytes - 1) // row_bytes * row_bytes
end

-- The register tile that suits a panel of weights: its columns and rows. Vectors of sums, of a row of weights and of an element of a
-- want a register each: the 32 of AVX-512 hold 24 vectors of sums, as 32 columns by 12 rows, 48 by 8 or 64 by 6, and 16 registers two
-- vectors by 6. Where rows are few, 48 by 8 is quicker. With AVX2, 24 columns by 4 rows would read each line twice, half of it a time.
--
-- rows     the number wanted with 32 registers; nil or 0: the one that suits the panel
-- whole    a tile has all columns of a panel, and fewer rows where registers are few
function gemm.tile(target, panel, rows, whole)
  local lanes = target:lanes "f32"
  local wide = target.vector_registers >= 32
  if wide and rows and rows > 0 then return panel, rows end
  if wide then return panel, math.min(24 * lanes // panel, 12) end
  if whole then return panel, math.max(12 * lanes // panel, 2) end
  return 2 * lanes, 6
end

-- Keeps the sums of a product in registers, a tile at a time.
--
--   for k: acc(col, row) += a * b
--     ->
--   for tile: acc in registers = 0
--     for k: acc += a * b        -- a tile of independent sums
--
-- acc        a Func that sums over "k"     out, loop    where a tile of it is needed
-- columns    of the tile                   lanes        SIMD lanes
-- col, row   its names for columns and rows, if not "col" and "row"
-- k          the loop of the sum, if not "k"
-- around     reduction loops around it, innermost first; rest_around those of what groups leave
-- group      rows of packed weights that lie together, 1 by default
-- dot        the target multiplies and adds a group in one instruction
-- rest       the loop over what groups leave, if not that of the sum with "_rest" after it
-- ahead      false: the weights are in a cache, and no lines of theirs are prefetched
-- panel      of the weights, where the tile has a part of it
function gemm.in_registers(acc, out, loop, o)
  local col, row, k = o.col or "col", o.row or "row", o.k or "k"
  local around, rest_around = o.around or {}, o.rest_around or {}
  local function tile(stage)
    stage:vectorize(col, o.lanes):unroll(col):unroll(row)
  end

  acc:compute_at(out, loop):store_in "stack"
  acc:bound_extent(col, o.columns)
  tile(acc)
  local step = acc:update(0)
  if (o.group or 1) == 1 then
    step:reorder(col, row, k, table.unpack(around))
  else
    local groups, member = step:split(k, o.group, "guard", "groups", "member")
    if o.dot then
      step:reorder(member, col, row, groups, table.unpack(around))
      step:atomic():vectorize(member)
    else
      step:reorder(col, row, member, groups, table.unpack(around)):unroll(member)
    end
    local rest = acc:update(1)
    rest:reorder(col, row, o.rest or k .. "_rest", table.unpack(rest_around))
    tile(rest)
  end
  step:vectorize(col, o.dot and dot_lanes(o.columns, o.lanes) or o.lanes):unroll(col):unroll(row)
  -- A window that leaves out its padding: so that which rows of a tile a column meets is known where the code is made.
  if around[1] and step:has_condition() then step:unroll(around[1]) end
  if o.ahead ~= false then
    step:prefetch_ahead((o.group or 1) == 1 and k or "groups", ahead(o.panel or o.columns))
  end
end

-- Computes a Func in tiles of registers, with the product that it reads accumulated in them.
--
--   for row: for col: out = f(sum over k of a * b)
--     ->
--   parallel job (a panel of columns, some tiles of rows)
--     for tile of rows
--       acc in registers = 0
--       for k: acc += a * b        -- rows x columns independent sums
--       out tile = f(acc)
--
-- out      the Func to tile; loops "col", "row"
-- acc      the Func that sums over "k", or several, which take their turns in the registers
-- m        the number of rows, an expression
-- lanes    SIMD lanes        panel    columns of a panel of the weights
-- columns  of the tile: divides panel        rows     of the tile
-- task     tiles of rows that a task takes in turn, while the panel stays in L2
-- group, dot   as above
-- stage_a  a Func of the rows of a as f32, for storage types that would be converted for each panel
--          column again; a tile of its rows is converted into L1 or L2 before the tile is computed
-- shared   other products read stage_a too: each gets a copy of its own
-- serial   within a task already
-- stage_b  the same for the weights: a panel is converted into L2 once a task
-- amx      the options of mma.blocks(), which then does it instead
--
-- Fewer rows than a tile has go by in smaller tiles. Where the last tile sticks out, it is moved up and some rows are computed twice.
-- A task takes the rows of a panel, not the panels of some rows: the latter gain a little where a is larger than L3, but read all of
-- the weights for every task, which is too much where many cores share a memory.
function gemm.register_tiles(out, acc, o)
  if o.amx then return mma.blocks(out, acc, o.amx) end
  local name = o.col or "col"
  local function tile(stage, rows)
    local panel, column = stage:split(name, o.panel, "guard", "panel", "column")
    local tiles, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "tile", "row_in_tile")
    local part, col = stage:split(column, o.columns, "guard", "part", "col_in_part")
    local task, step = stage:split(tiles, o.task, "guard", "task", "step")
    stage:reorder(col, row, part, step, task, panel)
    local job = stage:fuse(task, panel, "job")
    if not o.serial then job:parallel() end
    stage:vectorize(col, o.lanes, "guard"):unroll(col)
  end

  tile(out:specialize(o.m:at_least(o.rows)), o.rows)
  if o.rows > 4 then tile(out:specialize(o.m:at_least(4)), 4) end
  tile(out, 1)

  for _, sum in ipairs(type(acc) == "table" and acc or { acc }) do
    gemm.in_registers(sum, out, "part", o)
  end

  if o.stage_a then
    local staged = o.shared and o.stage_a:in_(acc) or o.stage_a
    staged:compute_at(out, "step"):vectorize("k", o.lanes, "guard")
  end
  if o.stage_b then
    o.stage_b:compute_at(out, "job"):bound_extent(name, o.panel):vectorize(name, o.lanes)
  end
end

-- deep_tiles() by tile instructions. The panels of a group are one task, so that the parts of its rows (runtime/mma_parts.h) are made
-- once for all.
local function deep_blocks(out, acc, o)
  local rows, columns = o.amx.rows, o.amx.panels * o.panel
  local group, column = out:split("col", columns, "guard", "group", "column")
  local task, row = out:split("row", o.amx.task * rows, "guard", "task", "row_in_task")
  out:reorder(column, row, task, group)
  out:fuse(task, group, "job"):parallel()
  out:vectorize(column, o.lanes, "guard")

  acc:compute_at(out, "job"):bound_extent("col", columns):vectorize("col", o.lanes)
  local sum = acc:update(0)
  local block = sum:split("k", o.depth, "guard", "block", "in_block")
  local partial = sum:rfactor(block, { "of_block" })
  sum:split("row", rows, "guard", "tile", "row_in_tile")
  sum:split("col", o.panel, "guard", "panel", "col_in_panel")
  sum:reorder("col_in_panel", "row_in_tile", "tile", "panel", block):vectorize("col_in_panel", o.lanes)
  mma.in_tiles(partial, acc, "tile", { columns = o.panel, rows = rows, lanes = o.lanes, group = 1, k = "in_block" })
end

-- The same for a long k, which goes by in blocks: a block of a panel of weights stays in L2 while the rows of a task meet
-- it, and the next panels meet the same rows. Sums of a task stay in L2, those of a tile and block in registers.
--
--   for row: for col: out = f(sum over k of a * b)
--     ->
--   parallel job (some tiles of rows, a panel of columns; the panels of a group one after the other)
--     acc = 0
--     for block of k
--       for tile of rows
--         partial in registers = 0
--         for k of the block: partial += a * b
--         acc += partial
--     out = f(acc)
--
-- depth    of a block of k        panels   of a group
-- amx      what mma.blocks() takes: by tile instructions, f32 in blocks of k, as the parts of a task's rows are beyond L2 otherwise
-- the rest as for register_tiles, with one acc and no stage_b
function gemm.deep_tiles(out, acc, o)
  if o.amx then return (o.group == 1 and deep_blocks or gemm.register_tiles)(out, acc, o) end
  local function tile(stage, rows)
    local panel, column = stage:split("col", o.panel, "guard", "panel", "column")
    local group, member = stage:split(panel, o.panels, "guard", "group", "member")
    local task, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "task", "row_in_task")
    stage:reorder(column, row, member, task, group)
    if rows == 1 then -- or Halide takes no rows for one
      local run, in_run = stage:split(task, o.rows, "guard", "run", "in_run")
      task = stage:fuse(in_run, run, "task")
    end
    stage:fuse(member, stage:fuse(task, group, "strip"), "job"):parallel()
    stage:vectorize(column, o.lanes, "guard")
  end

  -- Where the last task sticks out it is moved up, and at most a fifth is computed twice.
  local whole = o.rows * o.task
  tile(out:specialize(o.m:at_least(5 * whole)), whole)
  tile(out:specialize(o.m:at_least(o.rows)), o.rows)
  tile(out, 1)

  acc:compute_at(out, "job"):bound_extent("col", o.panel):vectorize("col", o.lanes)
  local sum, rest = acc:update(0), (o.group or 1) > 1 and acc:update(1)
  local steps, member = "k", nil
  if rest then steps, member = sum:split("k", o.group, "guard", "groups", "member") end
  local block = sum:split(steps, o.depth // (o.group or 1), "guard", "block", "in_block")
  local partial = sum:rfactor(block, { "of_block" })
  sum:split("row", o.rows, "guard", "tile", "row_in_tile")
  sum:split("col", o.columns, "guard", "part", "col_in_part")
  sum:reorder("col_in_part", "row_in_tile", "part", "tile", block):vectorize("col_in_part", o.lanes)
  if rest then rest:reorder("col", "row", "k_rest"):vectorize("col", o.lanes) end

  partial:compute_at(acc, "part"):store_in "stack":bound_extent("col", o.columns)
  partial:vectorize("col", o.lanes):unroll "col":unroll "row"
  local step = partial:update(0)
  if not member then
    step:reorder("col", "row", "in_block")
  elseif o.dot then
    step:reorder("member", "col", "row", "in_block"):atomic():vectorize "member"
  else
    step:reorder("col", "row", "member", "in_block"):unroll "member"
  end
  step:vectorize("col", o.dot and dot_lanes(o.columns, o.lanes) or o.lanes):unroll "col":unroll "row"
  step:prefetch_ahead("in_block", ahead(o.panel))
  if o.stage_a then
    o.stage_a:in_(partial):compute_at(acc, "tile"):vectorize("k", o.lanes, "guard")
  end
end

-- reduced_tiles() by tile instructions: tasks of several panels, as the rows of a task are prepared once for all of them.
local function reduced_blocks(out, acc, o)
  local panels, panel = out:split("p", o.amx.panels, "guard", "panels", "panel")
  local tile, row = out:split("row", o.amx.rows, "guard", "tile", "row_in_tile")
  local task, step = out:split(tile, o.amx.task, "guard", "task", "step")
  out:reorder(row, step, panel, task, panels)
  if not o.serial then out:fuse(task, panels, "job"):parallel() end
  if o.over then out:vectorize(o.over, o.lanes):unroll(o.over) end
  mma.in_tiles(acc, out, "step", { columns = o.panel, rows = o.amx.rows, lanes = o.lanes, group = o.group, col = "j" })
end

-- Computes a Func over the panels of a product, as a reduction of their columns, with the panel
-- accumulated in registers. The product exists for a tile of rows of one panel.
--
--   for row: for p: out = reduction over j of f(sum over k of a * b)
--     ->
--   parallel job (a panel p, some tiles of rows)
--     for tile of rows
--       acc in registers = 0
--       for k: acc += a * b
--       for row of the tile: out = reduction over j of f(acc)
--
-- out      the Func to tile; loops "p", "row"
-- acc      the Func that sums over "k"; dimensions "j", "row", "p"
-- over     the loop of out over the columns of a panel, where it has them all: a copy of acc, not a reduction
-- serial   within a task already
-- the rest as above; the loop over the rows of a tile is called "row_in_tile"
function gemm.reduced_tiles(out, acc, o)
  -- One panel: where `out` asks whether a column exists, bounds inference takes that for a second bound of p, and with a
  -- loop over p, be it of one turn, the sums stay in memory.
  acc:bound_extent("p", 1)
  if o.over then out:bound_extent(o.over, o.panel) end
  if o.amx then return reduced_blocks(out, acc, o) end

  local function tile(stage, rows)
    local tiles, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "tile", "row_in_tile")
    local task, step = stage:split(tiles, o.task, "guard", "task", "step")
    stage:reorder(row, step, task, "p")
    if not o.serial then stage:fuse(task, "p", "job"):parallel() end
    if o.over then stage:vectorize(o.over, o.lanes):unroll(o.over) end
  end

  tile(out:specialize(o.m:at_least(o.rows)), o.rows)
  if o.rows > 4 then tile(out:specialize(o.m:at_least(4)), 4) end
  tile(out, 1)

  gemm.in_registers(acc, out, "step",
    { columns = o.panel, lanes = o.lanes, col = "j", group = o.group, dot = o.dot })
  if o.stage_a then
    o.stage_a:compute_at(out, "step"):vectorize("k", o.lanes, "guard")
  end
end

-- Has a Func computed in tiles of a few rows and columns, some tiles of columns a task:
--
--   for row: for col: out = ..    ->    parallel task: for strip of rows: for step: out tile = ..
--
-- out      the Func to tile; loops "row" and "col", or as o.col says
-- m        the number of rows, an expression
-- columns, rows   of a tile, one row where there are fewer; halved: half as many, and so on
-- task     tiles of columns a task        serial    within a task already
function gemm.tiles_of_dots(out, o)
  local function tile(stage, rows)
    local tiles, column = stage:split(o.col or "col", o.columns, "guard", "tile", "column")
    local strip, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "strip", "row_in_strip")
    local task, step = stage:split(tiles, o.task, "guard", "task", "step")
    stage:reorder(column, row, strip, step, task)
    if not o.serial then task:parallel() end
    stage:vectorize(column):unroll(row)
  end
  local rows = o.rows
  while rows > 1 do
    tile(out:specialize(o.m:at_least(rows)), rows)
    rows = o.halved and rows // 2 or 1
  end
  tile(out, 1)
end

-- Has the sums of such a tile in registers: `acc`, and `partial`, its sums of SIMD lanes. o: as above; at: the Func and loop where they are
-- needed, if not the strips of `out`.
function gemm.sums_of_dots(out, acc, partial, o)
  local col, at = o.col or "col", o.at or { out, "strip" }
  for _, dots in ipairs { acc, partial } do
    dots:compute_at(at[1], at[2]):store_in "stack":bound_extent(col, o.columns)
    for _, stage in ipairs { dots, dots:update(0) } do stage:unroll(col):unroll "row" end
  end
end

-- Computes a Func of a few rows from products with transposed weights: dot products along k in
-- the SIMD lanes.
--
--   for row: for col: out = f(sum over k of a * b)
--     ->
--   parallel task (some tiles of columns)
--     for strip of rows: for tile of columns
--       lane in registers = 0
--       for k in steps of a vector: lane += a * b   -- rows x columns independent vectors
--       out tile = f(sum of lanes)
--
-- out      the Func to tile        accs     the Funcs that sum over "k"
-- lanes    SIMD lanes        m, columns, rows, task, col: as above
function gemm.dot_products(out, accs, o)
  gemm.tiles_of_dots(out, o)
  for _, acc in ipairs(accs) do gemm.sum_of_dots(out, acc, o) end
end

-- One of them, in the tiles of `out`.
function gemm.sum_of_dots(out, acc, o)
  local sum = acc:update(0)
  local _, lane = sum:split(o.k or "k", o.lanes, "guard", "step", "part")
  local partial = sum:rfactor(lane, { "lane" })
  gemm.sums_of_dots(out, acc, partial, o)
  sum:atomic():vectorize(lane)
  partial:reorder_storage("lane", o.col or "col", "row"):vectorize "lane"
  partial:update(0):reorder("lane", o.col or "col", "row", "step"):vectorize "lane"
end

-- The same of numbers of 8 bits (generators/gemm_fp8.cpp): rows become f32 first, once for all columns; where blocks of k have scales,
-- `k.of_block` is the sum of one.
--
-- out    the Func to tile, which reads k.acc
function gemm.float8_dot_products(k, out, o)
  gemm.tiles_of_dots(out, o)
  k.a_f:compute_root():parallel("row", 4, "guard"):vectorize("k", o.lanes, "guard")
  k.b_f:compute_at(out, "step"):reorder_storage("k", "col"):reorder("k", "col"):vectorize("k", o.lanes, "guard")
  local blocks = k:has "of_block"
  if blocks then
    k.acc:compute_at(out, "strip"):store_in "stack":bound_extent("col", o.columns):unroll "col":unroll "row"
    k.acc:update(0):reorder("col", "row", "block"):unroll "col":unroll "row"
    o.at = { k.acc, "block" }
  end
  gemm.sum_of_dots(out, blocks and k.of_block or k.acc, o)
end

-- Whether the target multiplies and adds groups of a type in one instruction that pays: AVX512-BF16, VNNI.
-- Intel's vdpbf16ps does not pay: one is done in two cycles, in which f32 has four multiply-adds.
--
-- columns  of the register tile: one of more than three steps is better off in f32
function gemm.has_dot(target, type, columns)
  if columns and columns > 3 * dot_lanes(columns, target:lanes "f32") then return false end
  local zen4 = target:has "avx512_zen4"
  if type == "bf16" then return zen4 and not processor.is_intel(target) end
  return (type == "u8" or type == "i8") and (zen4 or target:has "avxvnni")
end

-- Rows of packed weights of a type that lie together (generators/math/weights.h).
function gemm.group(type)
  return type == "bf16" and 2 or (type == "u8" or type == "i8") and 4 or 1
end

-- Whether a register tile of a schedule's parameters leaves registers for the operands: for `where`.
-- With one register too few, all sums move in each step.
function gemm.tile_fits(p, target)
  local vectors = p.panel // target:lanes "f32"
  return target.vector_registers < 32 or p.rows * vectors + vectors + 1 <= 32
end

-- The tiles that suit packed weights on a target: what gemm.register_tiles wants, filled up, with amx where the target has
-- tile instructions for the type.
--
-- x, x_f   the buffer of the rows, and the Func of them as f32
-- o        panel; rows and whole, as gemm.tile() has them; task (16); tiles = "always" or "never": take them anywhere or nowhere
function gemm.packed(target, x, x_f, o)
  local type = x:type()
  o.lanes = target:lanes "f32"
  o.columns, o.rows = gemm.tile(target, o.panel, o.rows, o.whole)
  local dot = gemm.has_dot(target, type, o.columns)
  o.task = o.task or 16
  o.group, o.dot = gemm.group(type), dot
  o.stage_a = type ~= "f32" and not dot and x_f
  if mma.suits(target, type, o.tiles) then
    o.amx = mma.blocks_of(type, { lanes = o.lanes, panel = o.panel, group = o.group, col = o.col, shared = o.shared })
  end
  return o
end

-- The same for rows of 8 bits, with sums of 32.
--
-- rows     the Func that makes unsigned rows of signed ones; false where they are unsigned as they lie
-- products    that share the rows of a tile, if not one
function gemm.packed_int8(target, rows, o)
  local wide = target.vector_registers >= 32
  o.lanes = target:lanes "i32"
  o.columns, o.rows = wide and o.panel or o.panel // 2, wide and (o.rows or 8) or 4
  o.task = o.task or 16
  o.group, o.dot = gemm.group "u8", gemm.has_dot(target, "u8")
  o.stage_a = rows
  if mma.has_tiles(target) then
    o.amx = mma.blocks_of("u8", { lanes = o.lanes, panel = o.panel, group = o.group, stage_a = rows, shared = o.shared })
    -- A block of rows that is made first is made once for all panels of a task. Panels of two products do not stay in L2 for that.
    if rows and (o.products or 1) == 1 then o.amx.inner, o.amx.task, o.amx.panels = "panels", 4, 8 end
  end
  return o
end

return gemm
