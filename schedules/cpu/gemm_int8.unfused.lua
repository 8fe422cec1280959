-- GEMM in 8 bits without fusion: the sums of 32 bits go to memory, then one pass each dequantises
-- them, activates, and writes the output. The product itself is as fast as in gemm_int8.lua.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "gemm_int8" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "i32"
    k.y:dim(0):set_min(0)
    gemm.register_tiles(k.acc:in_():compute_root(), k.acc, gemm.packed_int8(target, k.a:type() == "i8" and k.a_u, {
      m = k.y:dim(1):extent(), panel = p.panel,
    }))
    rows.materialise({ k.linear, k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
