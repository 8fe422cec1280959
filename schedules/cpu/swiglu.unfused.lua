-- SwiGLU without fusion: both products go to memory, then the activation of one, then the product of the
-- two, as in a chain of library calls. The products are as fast as in swiglu.lua.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "swiglu" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    k.y:dim(0):set_min(0)
    for _, acc in ipairs { k.gate, k.up } do
      gemm.register_tiles(acc:in_():compute_root(), acc, gemm.packed(target, k.x, k.x_f, {
        shared = true, m = k.y:dim(1):extent(), panel = p.panel,
      }))
    end
    rows.materialise({ k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    if k:has "h" then rows.materialise({ k.h }, { row = "row", inner = "col", lanes = lanes, task = 8 }) end
    rows.own_scales_in_passes(k, lanes)
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
