-- A product of numbers of 8 bits without fusion: the sums go to memory, then one pass each scales them and adds the bias, activates, and
-- writes the output. The product itself is as fast as in gemm_fp8.lua.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "gemm_fp8" {
  target = "cpu",

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    gemm.float8_dot_products(k, k.acc:in_():compute_root(), {
      m = k.y:dim(1):extent(), lanes = lanes, columns = 4, rows = target.vector_registers >= 32 and 4 or 2, task = 4,
    })
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
