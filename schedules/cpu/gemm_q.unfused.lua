-- GEMM with weights in blocks without fusion: the sums go to memory, then what the activation is of, then the activated, then the
-- result, each a pass of its own.

local gemm_q = require "lib.gemm_q"
local rows = require "lib.rows"

return schedule "gemm_q" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local sums = k.acc:in_():compute_root()
    local tile = { m = k.y:dim(1):extent(), columns = 1, rows = 4, task = 16 }
    if k:has "a_q" then
      gemm_q.quantised_rows(k, {})
      gemm_q.integer_dots(sums, k, tile)
    else
      gemm_q.dot_products(sums, k.acc, tile)
    end
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
