-- Products with weights in interleaved blocks (halyard_interleave_blocks) on a GPU.

local gemm_q = {}

-- The formats that there are.
gemm_q.formats = tune { "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "f16", "bf16", "f32", default = "q4_0" }

-- Words of 4 bytes that a column's four neighbours of both halves of a block are in, where these do not share bytes.
local words = { q8_0 = 2, f16 = 4, bf16 = 4, f32 = 8 }

-- Computes a Func of few rows by threads, which have neighbouring columns of a panel, elements of a word, and some blocks of the depth: a
-- load brings the words of `near` columns, which become f32 in registers, for all rows. Loads of several blocks are under way together.
--
--   for row: for col: y = f(sum over k of a * w)
--     ->
--   blocks panel, strip of rows
--     threads lanes, group, part: partial of near columns in registers = 0
--       for round: `turns` blocks of the part
--         load words of w, and a
--         for turn: for half: for member: for row: partial += a * w
--     threads: partials = partial                                       -- in shared memory
--     threads lane, some: gathered = sum of some partials
--     threads lane, row: y = f(sum of the gathered)
--
-- With one round, which is all of the depth, weights become f32 first, which waits for nothing where they are said to be constant.
--
-- y         the Func of the results
-- p         interleaved: columns of a panel        near: of a thread        rows: of a strip        parts        format
--           turns: blocks that are loaded together        rounds: 1 or, for any depth, 0
-- products  what they are computed of, as product() gives them: the same rows and columns of each
function gemm_q.by_threads(y, p, products)
  local along = p.interleaved // p.near -- threads side by side, in the shape of those of the sums
  y:split("col", p.interleaved, "guard", "panel", "column")
  y:split("row", p.rows, "guard", "strip", "row_in_strip")
  y:split("column", along, "auto", "column_y", "column_x")
  y:reorder("column_x", "column_y", "row_in_strip", "panel", "strip")
  y:gpu_blocks { "panel", "strip" }:gpu_threads { "column_x", "column_y", "row_in_strip" }:never_partition_all()
  for _, product in ipairs(products) do gemm_q.sums_by_threads(y, p, product) end
end

-- The sums of a product, at the panels of the Func that they are summed for.
--
-- product   partial, gathered: the sums of parts of the depth (generators/math/panel_weights.h)        row: the rows' Func
--           weights: what weights() gives for each matrix that they are summed of        factors: a Func that rows are multiplied by
function gemm_q.sums_by_threads(y, p, product)
  local partial, gathered, along = product.partial, product.gathered, p.interleaved // p.near
  gathered:compute_at(y, "panel"):store_in "gpu_shared"
  gathered:bound_extent("lane", p.interleaved):bound_extent("panel", 1):bound_extent("row", p.rows)
  gathered:split("lane", along, "auto", "column_y", "column_x")
  gathered:reorder("row", "column_x", "column_y", "some"):gpu_threads { "column_x", "column_y", "some" }:unroll "row":never_partition_all()

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
  by_threads(sum, { "k_x", "k_y", "k_z", "k_w" })
  sum:unroll("k_x"):unroll("k_y"):unroll("k_z")

  -- The weights of a thread.
  local first = p.rounds == 1
  local function in_thread(func, user, loop, turns)
    return func:compute_at(user, loop):store_in "register":never_partition_all():bound_extent("turn", turns):unroll "turn"
  end
  for _, w in ipairs(product.weights) do
    local user, round = first and w.element or partial, first and "lanes" or "k_w"
    local function loaded(func, bytes)
      in_thread(func, user, round, p.turns):bound_extent("byte", bytes):bound_extent("panel", 1):vectorize "byte"
    end
    local function of_lanes(func, loop)
      in_thread(func, user, loop, 1):bound_extent("lane", p.near):bound_extent("panel", 1):unroll "lane"
    end
    if first then
      w.element:compute_at(y, "panel"):store_in "register":bound_extent("lane", p.interleaved):bound_extent("panel", 1)
      w.element:bound_extent("group", 4):bound_extent("part", p.parts):bound_extent("turn", p.turns):bound_extent("half", 2)
      w.element:bound_extent("member", 4):reorder_storage("lane", "member", "half", "turn", "group", "part", "panel")
      w.element:split("lane", p.near, "auto", "lanes", "near")
      w.element:reorder("near", "member", "half", "turn", "lanes", "group", "part"):gpu_threads(threads):never_partition_all()
      w.element:unroll("near"):unroll("member"):unroll("half"):unroll "turn"
    end
    loaded(w.bytes, 4 * p.near)
    w.bytes:bound_extent("word", words[p.format] or 1):unroll "word"
    if w.high then
      loaded(w.high, 4 * p.near)
      w.high:bound_extent("half", p.format == "q6_k" and 2 or 1):unroll "half"
    end
    for _, numbers in ipairs(w.numbers) do
      loaded(numbers.bytes, 2 * p.near)
      local of = { numbers.value, numbers.small }
      for _, func in ipairs(of) do of_lanes(func, first and "turn" or "k_z") end
      if numbers.small and numbers.of_scale then
        for _, func in ipairs(of) do func:bound_extent("which", p.format == "q6_k" and 2 or 1):unroll "which" end
      end
    end
    if not first then of_lanes(w.element, "k_x") end
  end
  local ahead = p.turns > 1 or first -- else there are rows enough to have registers full
  for _, func in ipairs(product.factors and { product.row, product.factors } or { product.row }) do
    in_thread(func, partial, ahead and "k_w" or "k_y", p.turns):bound_extent("member", 4):bound_extent("half", ahead and 2 or 1)
    func:bound_extent("group", 1):bound_extent("part", 1):vectorize("member"):unroll "half"
  end
  product.row:bound_extent("row", p.rows):unroll "row"
end

-- Computes a Func of few rows by warps, on the tensor cores: a warp has some columns, eight rows or sixteen, and some of the depth in
-- registers, each thread four neighbours of columns and of rows at a time, which become 16 bits there. An element in f32 is three factors.
--
--   for row: for col: y = f(sum over k of a * w)
--     ->
--   blocks of columns, strip of rows
--     threads: partial in registers = 0                             -- of two rows of eight and some columns, by a part of the depth
--     for round: `turns` of the part
--       threads: factors of the weights and of a, in registers
--       warps: turn_sum = sum over the turn of factor * factor      -- on the tensor cores
--       threads: partial += turn_sum, times the scale of integers
--     threads: partials = partial                                   -- in shared memory
--     threads lane, some: gathered = sum of some partials
--     threads lane, row: y = f(sum of the gathered)
--
-- k    the kernel's Funcs, as generators/math/panel_products.h names them
-- p    parts: of the depth, 8 or more        turns: loaded together        format
-- o    columns: of a warp, a multiple of 16        rows: of a warp, 8 or 16
--      lies: weights are as in a file, of which a thread has whole blocks; else columns are those of an interleaved panel
function gemm_q.by_warps(k, p, o)
  local y, partial, turn_sum, factor, row_factor = k.y, k.partial, k.turn_sum, k.w_factor, k.row_factor
  local factors = k.a_part:type() == "f32" and 3 or 1 -- of an element of a row
  local across, down = 4, 8 -- threads of a warp, and as many rows of an instruction as down
  local rows, columns = o.rows, o.columns
  local near = columns // down -- columns of a thread
  y:split("col", columns, "guard", "panel", "column")
  y:split("row", rows, "guard", "strip", "in_strip")
  y:split("in_strip", down, "auto", "eight", "row_of_eight")
  y:split("column", across, "auto", "column_y", "column_x")
  y:reorder("eight", "column_x", "column_y", "row_of_eight", "panel", "strip"):unroll "eight"
  y:gpu_blocks { "panel", "strip" }:gpu_threads { "column_x", "column_y", "row_of_eight" }:never_partition_all()

  local gathered = k.gathered
  gathered:compute_at(y, "panel"):store_in "gpu_shared"
  gathered:bound_extent("lane", columns):bound_extent("panel", 1):bound_extent("row", rows)
  gathered:split("lane", across, "auto", "column_y", "column_x")
  gathered:reorder("row", "column_x", "column_y", "some"):gpu_threads { "column_x", "column_y", "some" }:unroll "row":never_partition_all()

  -- Sums: a thread has two rows of eight.
  local function of_sums(stage, loops)
    stage:split("row", down, "auto", "eight", "of_eight")
    stage:split("of_eight", 2, "auto", "rows", "row_near")
    stage:split("lane", near, "auto", "lanes", "near")
    local order = { "row_near", "eight", "near", table.unpack(loops) }
    for _, loop in ipairs { "rows", "lanes", "part" } do table.insert(order, loop) end
    stage:reorder(table.unpack(order)):gpu_threads { "rows", "lanes", "part" }:never_partition_all()
    return stage:unroll("row_near"):unroll("eight"):unroll "near"
  end
  local partials = partial:in_():compute_at(y, "panel"):store_in "gpu_shared"
  partial:compute_at(y, "panel"):store_in "register"
  turn_sum:compute_at(partial, "k_y"):store_in "register":bound_extent("turn", p.turns)
  for _, func in ipairs { partials, partial, turn_sum } do
    func:bound_extent("lane", columns):bound_extent("panel", 1):bound_extent("row", rows):bound_extent("part", p.parts)
  end
  of_sums(partials, {})
  of_sums(partial, {})
  of_sums(partial:update(0), { "k_x" }):unroll("k_x"):reorder("rows", "lanes", "part", "k_y")
  of_sums(turn_sum, { "turn" }):unroll "turn"
  local products = turn_sum:update(0)
  products:split("lane", near, "auto", "lanes", "of_lanes")
  products:split("of_lanes", 2, "auto", "pair", "near")
  products:split("row", down, "auto", "eight", "of_eight")
  products:split("of_eight", 2, "auto", "rows", "row_near")
  products:reorder("e_x", "row_near", "near", "e_y", "e_w", "e_z", "pair", "eight", "turn", "rows", "lanes", "part")
  products:gpu_threads { "rows", "lanes", "part" }:never_partition_all()
  products:unroll("e_w"):unroll("e_z"):unroll("pair"):unroll("eight"):unroll "turn"

  -- Factors: a thread has four neighbours along the depth in each step, of some columns and of a row of eight.
  local steps = o.lies and 8 or 2
  for _, func in ipairs { factor, row_factor } do
    func:compute_at(partial, "k_y"):store_in "register":bound_extent("turn", p.turns):bound_extent("part", p.parts)
    func:bound_extent("step", steps):bound_extent("group", across):bound_extent("member", 4):never_partition_all()
  end
  factor:bound_extent("lane", columns):bound_extent("panel", 1)
  factor:reorder_storage("member", "lane", "step", "turn", "group", "part", "panel")
  factor:split("lane", near, "auto", "lanes", "near")
  factor:reorder("member", "near", "step", "turn", "group", "lanes", "part")
  factor:vectorize("member"):unroll("near"):unroll("step"):unroll("turn"):gpu_threads { "group", "lanes", "part" }
  row_factor:bound_extent("row", rows):bound_extent("which", factors)
  row_factor:reorder_storage("member", "which", "step", "turn", "row", "group", "part")
  row_factor:split("row", down, "auto", "eight", "of_eight")
  row_factor:reorder("member", "which", "step", "eight", "turn", "group", "of_eight", "part")
  row_factor:vectorize("member"):unroll("which"):unroll("step"):unroll("eight"):unroll("turn"):gpu_threads { "group", "of_eight", "part" }

  local function in_thread(func, user, loop)
    return func:compute_at(user, loop):store_in "register":never_partition_all():bound_extent("turn", p.turns):unroll "turn"
  end
  local function bytes(func, user, loop, count)
    return in_thread(func, user, loop):bound_extent("byte", count):vectorize "byte"
  end
  if factors > 1 or o.lies then
    local elements, vector = 4 * steps, math.min(4 * steps, factors > 1 and 4 or 8)
    in_thread(k.a_part, row_factor, "group"):bound_extent("element", elements):split("element", vector, "auto", "elements", "in_vector")
    k.a_part:vectorize("in_vector"):unroll "elements"
    if rows > down then k.a_part:unroll "row" end
  end
  if o.lies then
    bytes(k.w_bytes, factor, "group", p.format == "int8" and 32 or 16)
    k.w_bytes:bound_extent("lane", near):unroll "lane"
    for _, name in ipairs { "w_scale", "w_zero" } do
      if k:has(name) then in_thread(k[name], factor, "group"):bound_extent("lane", near):unroll "lane" end
    end
    return
  end
  bytes(k.w_bytes, factor, "group", 4 * near):bound_extent("panel", 1)
  k.w_bytes:bound_extent("word", words[p.format] or 1):unroll "word"
  bytes(k.w_scale_bytes, partial, "rows", 2 * near):bound_extent("panel", 1)
  in_thread(k.w_scale, partial, "rows")
  k.w_scale:bound_extent("lane", near):bound_extent("panel", 1):unroll "lane"
end

-- A product whose Funcs' names begin as those of its weights do, for by_threads().
function gemm_q.product(k, name)
  return {
    partial = k[name .. "_partial"], gathered = k[name .. "_gathered"], row = k[name .. "_row_part"], weights = { gemm_q.weights(k, name) },
  }
end

-- The Funcs of a matrix whose names begin so (generators/math/panel_weights.h).
function gemm_q.weights(k, name)
  local function maybe(part) return k:has(name .. part) and k[name .. part] or nil end
  local numbers = {}
  for _, kind in ipairs { "_scale", "_minimum" } do
    if k:has(name .. kind) then
      table.insert(numbers, {
        bytes = k[name .. kind .. "_bytes"], value = k[name .. kind], small = maybe(kind .. "_small"), of_scale = kind == "_scale",
      })
    end
  end
  return { bytes = k[name .. "_bytes"], high = maybe "_high_bytes", numbers = numbers, element = k[name .. "_element"] }
end

-- What schedules of few rows by threads leave open.
function gemm_q.params_of_few()
  return {
    rows  = tune { 0, 1, 2, 4, 8, default = 0 }, -- that a thread has; 0: by the rows of a call, up to 4
    near  = tune { 1, 2, 4, default = 4 },       -- columns of a thread
    turns = tune { 1, 2, 3, 4, 6, 8, default = 1 }, -- blocks of a part that are loaded together, where a thread has one row
    once  = tune { 0, 1, 2, default = 2 },          -- so many or fewer may be all of them, which are unpacked before anything else
    rounds = tune { 0, 1, default = 0, search = false }, -- 1: a version for that
  }
end

-- Whether a block has the threads. For `where`.
function gemm_q.few_fit(p) return p.interleaved // p.near * 4 * p.parts <= 1024 end

-- Versions by the rows of a call. Threads have fewer rows than a call where all blocks of threads are under way at once: each unpacks
-- its panel's weights again, and has less to do. Of one row, a thread has registers for several blocks of the depth, and for all of a
-- short one. A row's result is the same bits in each.
function gemm_q.versions_of_few(k, p, target)
  local y, x = k:has "q" and k.q or k.y, k:has "x" and k.x or k.a
  local m, depth, columns = y:dim(1):extent(), x:dim(0):extent(), y:dim(0):extent()
  local matrices = (k:has "w_up_bytes" or k:has "w_k_bytes") and 2 or 1 -- of which k and v together may have as many columns as q
  -- Whether a call is at most `blocks` panels of a matrix with strips of so many rows each; one strip is `first`.
  local function fits(rows, blocks, first)
    local condition = m:at_most(rows)
    if first then condition = condition:and_(columns:at_most(first * p.interleaved)) end
    for strips = 2, 8 // rows do
      local panels = blocks // (strips * matrices)
      condition = condition:or_(m:at_most(strips * rows):and_(columns:at_most(panels * p.interleaved)))
    end
    return condition
  end
  local devices, versions = target.multiprocessors, {}
  for turns = 1, p.rows <= 1 and p.once or 0 do
    -- More turns, and a multiprocessor has registers for one block.
    local all = depth:at_most(32 * p.parts * turns):and_(fits(1, turns == 1 and 5 * devices // 2 or devices, 2 * devices))
    table.insert(versions, { when = all, rows = 1, turns = turns, rounds = 1 })
  end
  if p.rows > 0 then
    table.insert(versions, { rows = p.rows, turns = p.rows == 1 and p.turns or 1 })
    return versions
  end
  table.insert(versions, { when = m:at_most(1), rows = 1, turns = p.turns })
  table.insert(versions, { when = fits(2, 2 * devices), rows = 2, turns = 1 })
  table.insert(versions, { rows = 4, turns = 1 }) -- eight are slower than two strips, which load the rows at the same time
  return versions
end

-- Unpacks all weights in a kernel of its own, along k, as tensor cores fetch them.
--
--   for col: for k: w = unpacked
--     ->
--   blocks part of the depth, panel
--     threads word, column: w of four neighbours along k
--
-- w    their Func, of loops "k" and "col"        interleaved    columns of a panel
function gemm_q.unpack(w, p)
  w:split("col", p.interleaved, "guard", "panel", "column")
  w:split("k", 128, "guard", "part", "in_part")
  w:split("in_part", 4, "round_up", "word", "member")
  w:reorder("member", "word", "column", "part", "panel"):vectorize "member"
  w:gpu_blocks { "part", "panel" }:gpu_threads { "word", "column" }:never_partition_all()
end

return gemm_q
