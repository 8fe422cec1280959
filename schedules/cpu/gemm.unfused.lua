-- GEMM without fusion: the product goes to memory, then one pass each for scale and bias,
-- for the activation, and for the residual. The product itself is as fast as in gemm.lua,
-- so the difference between the two is what fusing the epilogue gains.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "gemm" {
  target = "cpu",

  generator = { weights = "packed", panel = tune { 48, 64, default = 64 } },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local columns, rows_of_tile = gemm.tile(target, p.panel)
    k.y:dim(0):set_min(0)
    local product = k.acc:in_():compute_root()
    gemm.register_tiles(product, k.acc, {
      m = k.y:dim(1):extent(),
      lanes = lanes,
      panel = p.panel,
      columns = columns,
      rows = rows_of_tile,
      task = 16,
    })
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
