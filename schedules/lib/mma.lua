-- Matrix products in tiles (AMX).

local mma = {}

-- Computes a Func in blocks, with the product that it reads done by tile instructions.
--
--   for row: for col: out = f(sum over k of a * b)
--     ->
--   parallel job (a panel of columns, some blocks of rows)
--     for block of rows
--       acc on the stack = 0
--       acc += a * b                -- one call, over all of k
--       out block = f(acc)
--
-- out      the Func to tile; loops "col", "row"
-- acc      the Func that sums over "k" in groups and over "k_rest"
-- lanes    SIMD lanes of f32      panel    columns of a panel of the weights
-- rows     of a block: 32 is two tiles
-- task     blocks that a task takes in turn, while the panel stays in L2
-- group    rows of packed weights that lie together
-- stage_a  a Func that makes the rows of a; a block of them is computed before it is multiplied
function mma.blocks(out, acc, o)
  local panel, column = out:split("col", o.panel, "guard", "panel", "column")
  local block, row = out:split("row", o.rows, "guard", "block", "row_in_block")
  local task, step = out:split(block, o.task, "guard", "task", "step")
  out:reorder(column, row, step, task, panel)
  out:fuse(task, panel, "job"):parallel()
  out:vectorize(column, o.lanes, "guard")

  acc:compute_at(step):store_in "stack"
  acc:bound_extent("col", o.panel):bound_storage("row", o.rows)
  acc:vectorize("col", o.lanes)
  local product = acc:update(0)
  local groups, member = product:split("k", o.group, "guard", "groups", "member")
  product:reorder(member, "col", "row", groups):mma()
  if o.stage_a then
    o.stage_a:compute_at(step):vectorize("k", 4 * o.lanes, "guard")
  end
  acc:update(1):reorder("col", "row", "k_rest"):vectorize("col", o.lanes)
end

-- Whether the target has tiles.
function mma.has_tiles(target)
  return target:has "avx512_sapphirerapids"
end

-- The register tiles that a target without AMX takes for panels that suit AMX, for gemm.register_tiles.
function mma.vectors(target, panel)
  if target.vector_registers >= 32 then
    return { columns = panel, rows = ({ [32] = 12, [48] = 8, [64] = 6 })[panel] }
  end
  return { columns = panel == 48 and 24 or 16, rows = panel == 48 and 4 or 6 }
end

return mma
