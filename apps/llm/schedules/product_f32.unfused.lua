-- Products with weights in f32 without fusion: the sums, then the bias, then the residual, each a pass of its own.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "gemm" {
  target = "cpu",

  generator = { weights = "nk" },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local sums = k.acc:in_():compute_root()
    gemm.dot_products(sums, { k.acc }, {
      m = k.y:dim(1):extent(),
      lanes = lanes,
      columns = 4,
      rows = target.vector_registers >= 32 and 4 or 2,
      task = 4,
    })
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
