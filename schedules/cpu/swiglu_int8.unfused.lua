-- SwiGLU in 8 bits without fusion: the sums of both products go to memory, then the activation of one, then the product of
-- the two, as in a chain of library calls. The products are as fast as in swiglu_int8.lua.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "swiglu_int8" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    k.y:dim(0):set_min(0)
    for _, acc in ipairs { k.gate, k.up } do
      gemm.register_tiles(acc:in_():compute_root(), acc, gemm.packed_int8(target, k.x:type() == "i8" and k.x_u, {
        shared = true, m = k.y:dim(1):extent(), panel = p.panel,
      }))
    end
    rows.materialise({ k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
