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
  acc:update(0):reorder("col", "row", "k")
  acc:update(0):vectorize("col", o.lanes):unroll("col"):unroll("row")
end

return gemm
