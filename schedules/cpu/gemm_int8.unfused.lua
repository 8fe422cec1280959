-- GEMM in 8 bits without fusion: the sums of 32 bits go to memory, then one pass each dequantises
-- them, activates, and writes the output. The product itself is as fast as in gemm_int8.lua.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "gemm_int8" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "i32"
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
      group = 4,
      dot = gemm.has_dot(target, "u8"),
      stage_a = k.a:type() == "i8" and k.a_u,
    })
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
