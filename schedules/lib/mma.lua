-- Matrix products in tiles (AMX).

local mma = {}

-- Has tile instructions sum a product, a block of rows and columns at a time.
--
--   for k: acc(col, row) += a * b
--     ->
--   for block: acc on the stack = 0
--     acc += a * b                  -- one call, over all of k or a part of it
--
-- acc        a Func that sums over "k" in groups and over "k_rest"     out, loop    where a block of it is needed
-- columns, rows    of the block: 32 rows are two tiles                 lanes        SIMD lanes of f32
-- group      rows of packed weights that lie together, 1 for f32
-- depth      what a call sums of k, if not all of it: that much of the panel stays in L1 while the rows go by
-- col, row   its names for columns and rows, if not "col" and "row"
-- k, rest    the loops of the sum, if not "k" and that with "_rest" after it
-- around     reduction loops around it, innermost first, with a call for each iteration; rest_around those of what groups leave
function mma.in_tiles(acc, out, loop, o)
  local col, row, k = o.col or "col", o.row or "row", o.k or "k"
  acc:compute_at(out, loop):store_in "stack"
  acc:bound_extent(col, o.columns):bound_storage(row, o.rows)
  acc:vectorize(col, o.lanes)
  local product = acc:update(0)
  local groups, member = k, nil
  if o.group > 1 then
    groups, member = product:split(k, o.group, "guard", "groups", "member")
  end
  local around = { table.unpack(o.around or {}) }
  if o.depth then
    local step, group = product:split(groups, o.depth // o.group, "guard", "step", "group")
    groups = group
    table.insert(around, 1, step)
  end
  if member then
    product:reorder(member, col, row, groups, table.unpack(around)):mma()
    acc:update(1):reorder(col, row, o.rest or k .. "_rest", table.unpack(o.rest_around or {})):vectorize(col, o.lanes)
  else
    product:reorder(col, row, groups, table.unpack(around)):mma()
  end
end

-- Computes a Func in blocks, with the product that it reads done by tile instructions.
--
--   for row: for col: out = f(sum over k of a * b)
--     ->
--   parallel job (some panels of columns, some blocks of rows; all panels before the next blocks)
--     for panel of columns
--       for block of rows
--         acc on the stack = a * b    -- one call, over all of k
--         out block = f(acc)
--
-- The rows of a that a task has stay in L2 for all panels, which come from L3 in order. With all rows of a panel first, a would come
-- from L3 for each panel.
--
-- Where k is short, a block of a fits L1 and the panels of a task fit L2: then inner = "panels", by which a block of rows meets all panels
-- of the task, is quicker. For a long k it is slower.
--
-- out      the Func to tile; loops "col", "row"
-- acc      the Func that sums over "k" in groups and over "k_rest", or several, which take turns
-- lanes    SIMD lanes of f32      panel    columns of a panel of the weights
-- rows     of a block: 32 is two tiles
-- inner    what of a task goes by first: "panels", or blocks of "rows" (default)
-- task     blocks that a task takes in turn      panels   and panels: few tasks configure the tiles less often
-- group    rows of packed weights that lie together
-- stage_a  a Func that makes the rows of a; a block of them is computed before it is multiplied
-- shared   other products read stage_a too: each gets a copy of its own
-- k, around, rest, rest_around    as in_tiles() takes them
function mma.blocks(out, acc, o)
  local panel, column = out:split(o.col or "col", o.panel, "guard", "panel", "column")
  local block, row = out:split("row", o.rows, "guard", "block", "row_in_block")
  local task = out:split(block, o.task, "guard", "task", "step")
  local panels = out:split(panel, o.panels or 1, "guard", "panels", "panel_step")
  local inner, outer = "step", "panel_step"
  if o.inner == "panels" then inner, outer = outer, inner end
  out:reorder(column, row, inner, outer, panels, task)
  out:fuse(panels, task, "job"):parallel()
  out:vectorize(column, o.lanes, "guard"):unroll(column)

  for _, sum in ipairs(type(acc) == "table" and acc or { acc }) do
    mma.in_tiles(sum, out, inner, {
      columns = o.panel, rows = o.rows, lanes = o.lanes, group = o.group, col = o.col,
      k = o.k, around = o.around, rest = o.rest, rest_around = o.rest_around,
    })
  end
  if o.stage_a then
    local staged = o.shared and o.stage_a:in_(acc) or o.stage_a
    staged:compute_at(out, "step"):vectorize("k", 4 * o.lanes, "guard")
  end
end

-- What blocks() wants for a type, filled up: tasks that fit L2, and that some threads can share.
function mma.blocks_of(type, o)
  o.rows = 32
  if type == "f32" then o.task, o.panels = 4, 8 else o.task, o.panels = 16, 2 end
  return o
end

-- Whether there are tile instructions for a type; for f32 by its parts (runtime/mma_f32.h).
function mma.multiplies(type)
  return type == "f32" or type == "bf16" or type == "u8" or type == "i8"
end

-- Whether the target has tiles.
function mma.has_tiles(target)
  return target:has "avx512_sapphirerapids"
end

-- Whether products of a type are to be done by tile instructions.
-- tiles    "always", also where there are none, "never", or anything else for where there are
function mma.suits(target, type, tiles)
  return mma.multiplies(type) and (tiles == "always" or tiles ~= "never" and mma.has_tiles(target))
end

-- The register tiles that a target without AMX takes for panels that suit AMX, for gemm.register_tiles.
function mma.vectors(target, panel)
  if target.vector_registers >= 32 then
    return { columns = panel, rows = ({ [32] = 12, [48] = 8, [64] = 6 })[panel] }
  end
  return { columns = panel == 48 and 24 or 16, rows = panel == 48 and 4 or 6 }
end

return mma
