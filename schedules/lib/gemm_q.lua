-- Products with weights in blocks along k, on the host.

local gemm = require "lib.gemm"

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
  gemm.tiles_of_dots(out, { m = o.m, columns = o.columns, rows = o.rows, halved = true, task = o.task })

  local sum = acc:update(0)
  local partial = sum:rfactor("k_x", { "lane" })
  gemm.sums_of_dots(out, acc, partial, o)
  sum:atomic():vectorize "k"
  partial:reorder_storage("lane", "col", "row"):vectorize "lane"
  partial:update(0):reorder("lane", "col", "row", "k"):vectorize "lane"
  return partial
end

return gemm_q
