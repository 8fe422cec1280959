-- The feed-forward block in 8 bits without fusion: rows of x in 8 bits, the sums of both products, the activation, h, its rows
-- in 8 bits and the sums of the product back go to memory, each its own pass over all rows.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

return schedule "swiglu_mlp_int8" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    k.y:dim(0):set_min(0)
    rows.quantise(k.x_q, k.x_scale, { lanes = lanes, sums = { k.sum_sq, k.x_peak }, values = { k.x_inv } })
    for _, acc in ipairs { k.gate, k.up, k.acc } do
      gemm.register_tiles(acc:in_():compute_root(), acc, gemm.packed_int8(target, false, {
        m = k.y:dim(1):extent(), panel = p.panel,
      }))
    end
    rows.materialise({ k.activated, k.h }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    rows.quantise(k.h_q, k.h_scale, { lanes = lanes, sums = { k.h_peak }, values = { k.h_inv } })
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
