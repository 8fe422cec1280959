-- Matrix products on the host.

local gemm = {}

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
-- acc      the Func that sums over "k"
-- m        the number of rows, an expression
-- lanes    SIMD lanes        panel    columns of a panel of the weights
-- columns  of the tile: divides panel        rows     of the tile
-- task     tiles of rows that a task takes in turn, while the panel stays in L2
-- group    rows of packed weights that lie together, 1 if nothing is said
-- dot      the target multiplies and adds a group in one instruction
-- stage_a  a Func of the rows of a as f32, for storage types that would be converted for each panel
--          column again; a tile of its rows is converted into L1 or L2 before the tile is computed
-- stage_b  the same for the weights: a panel is converted into L2 once a task
--
-- Fewer rows than a tile has are done in smaller tiles; where the last tile sticks out,
-- it is moved up and some rows are computed twice.
function gemm.register_tiles(out, acc, o)
  local function tile(stage, rows)
    local panel, column = stage:split("col", o.panel, "guard", "panel", "column")
    local tiles, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "tile", "row_in_tile")
    local part, col = stage:split(column, o.columns, "guard", "part", "col_in_part")
    local task, step = stage:split(tiles, o.task, "guard", "task", "step")
    stage:reorder(col, row, part, step, task, panel)
    stage:fuse(task, panel, "job"):parallel()
    stage:vectorize(col, o.lanes, "guard"):unroll(col)
  end

  tile(out:specialize(o.m:at_least(o.rows)), o.rows)
  if o.rows > 4 then tile(out:specialize(o.m:at_least(4)), 4) end
  tile(out, 1)

  acc:compute_at(out, "part"):store_in "stack"
  acc:bound_extent("col", o.columns)
  acc:vectorize("col", o.lanes):unroll("col"):unroll("row")
  local step = acc:update(0)
  if (o.group or 1) == 1 then
    step:reorder("col", "row", "k")
  else
    local groups, member = step:split("k", o.group, "guard", "groups", "member")
    if o.dot then
      step:reorder(member, "col", "row", groups)
      step:atomic():vectorize(member)
    else
      step:reorder("col", "row", member, groups):unroll(member)
    end
    local rest = acc:update(1)
    rest:reorder("col", "row", "k_rest")
    rest:vectorize("col", o.lanes):unroll("col"):unroll("row")
  end
  step:vectorize("col", o.lanes):unroll("col"):unroll("row")

  if o.stage_a then
    o.stage_a:compute_at(out, "step"):vectorize("k", o.lanes, "guard")
  end
  if o.stage_b then
    o.stage_b:compute_at(out, "job"):bound_extent("col", o.panel):vectorize("col", o.lanes)
  end
end

-- Whether the target multiplies and adds groups of a type in one instruction: AVX512-BF16, VNNI.
function gemm.has_dot(target, type)
  local bf16 = target:has "avx512_zen4" or target:has "avx512_sapphirerapids"
  return type == "bf16" and bf16 or (type == "u8" or type == "i8") and (bf16 or target:has "avxvnni")
end

-- Rows of packed weights of a type that lie together (generators/math/weights.h).
function gemm.group(type)
  return type == "bf16" and 2 or (type == "u8" or type == "i8") and 4 or 1
end

return gemm
