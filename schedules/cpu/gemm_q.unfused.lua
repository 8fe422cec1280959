-- GEMM with weights in blocks without fusion: the sums go to memory, then what the activation is of, then the activated, then the
-- result, each a pass of its own.

local blocks = require "lib.blocks"
local rows = require "lib.rows"

return schedule "gemm_q" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local sums = k.acc:in_():compute_root()
    blocks.quantised_rows(k, "a", {})
    blocks.dots(sums, { blocks.product(k, k.acc, "w", "a") }, { m = k.y:dim(1):extent(), columns = 1, rows = 4, task = 16 })
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
