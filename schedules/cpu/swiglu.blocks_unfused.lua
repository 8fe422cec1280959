-- SwiGLU with weights of 4 to 8 bits without fusion: both products go to memory, then the activation of one, then the product of the two,
-- as in a chain of library calls. The products are as fast as in swiglu.blocks.lua.

local blocks = require "lib.blocks"
local rows = require "lib.rows"

return schedule "swiglu" {
  target = "cpu",

  generator = { weights = "blocks" },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    blocks.quantised_rows(k, "x", {})
    for name, acc in pairs { w_gate = k.gate, w_up = k.up } do
      blocks.dots(acc:in_():compute_root(), { blocks.product(k, acc, name, "x") }, {
        m = k.y:dim(1):extent(), columns = 1, rows = 4, task = 16, ahead = 4096,
      })
    end
    rows.materialise({ k.activated }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    if k:has "h" then rows.materialise({ k.h }, { row = "row", inner = "col", lanes = lanes, task = 8 }) end
    rows.own_scales_in_passes(k, lanes)
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
