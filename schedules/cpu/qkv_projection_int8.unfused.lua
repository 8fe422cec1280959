-- The three projections in 8 bits without fusion: the sums of each product go to memory, then a pass scales them and adds
-- the bias.

local gemm = require "lib.gemm"

return schedule "qkv_projection_int8" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    for _, projection in ipairs { { k.q, k.acc_q }, { k.k, k.acc_k }, { k.v, k.acc_v } } do
      local out, acc = projection[1], projection[2]
      out:dim(0):set_min(0)
      gemm.register_tiles(acc:in_():compute_root(), acc, gemm.packed_int8(target, k.x:type() == "i8" and k.x_u, {
        shared = true, m = out:dim(1):extent(), panel = p.panel,
      }))
      out:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
    end
  end,
}
