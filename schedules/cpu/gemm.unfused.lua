-- GEMM without fusion: the product goes to memory, then one pass each for scale and bias,
-- for the activation, and for the residual. The product itself is as fast as in gemm.lua,
-- so the difference between the two is what fusing the epilogue gains.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "gemm" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local wide = target.vector_registers >= 32
    k.y:dim(0):set_min(0)
    local product = k.acc:in_():compute_root()
    gemm.register_tiles(product, k.acc, {
      m = k.y:dim(1):extent(),
      lanes = lanes,
      panel = p.panel,
      columns = wide and p.panel or p.panel // 2,
      rows = wide and 8 or 4,
      task = 16,
    })
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
