-- Products with weights in blocks along k, on the host.

local gemm_q = {}

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
  local function tile(stage, rows)
    local tiles, column = stage:split("col", o.columns, "guard", "tile", "column")
    local strip, row = stage:split("row", rows, rows > 1 and "shift_inwards" or "auto", "strip", "row_in_strip")
    local task, step = stage:split(tiles, o.task, "guard", "task", "step")
    stage:reorder(column, row, strip, step, task)
    task:parallel()
    stage:vectorize(column):unroll(row)
  end
  local rows = o.rows
  while rows > 1 do
    tile(out:specialize(o.m:at_least(rows)), rows)
    rows = rows // 2
  end
  tile(out, 1)

  local sum = acc:update(0)
  local partial = sum:rfactor("k_x", { "lane" })
  for _, dots in ipairs { acc, partial } do
    dots:compute_at(out, "strip"):store_in "stack":bound_extent("col", o.columns)
    for _, stage in ipairs { dots, dots:update(0) } do stage:unroll "col":unroll "row" end
  end
  sum:atomic():vectorize "k"
  partial:reorder_storage("lane", "col", "row"):vectorize "lane"
  partial:update(0):reorder("lane", "col", "row", "k"):vectorize "lane"
  return partial
end

return gemm_q
