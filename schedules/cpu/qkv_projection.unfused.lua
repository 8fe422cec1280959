-- The three projections without fusion: each product goes to memory, then a pass adds its bias.

local gemm = require "lib.gemm"

return schedule "qkv_projection" {
  target = "cpu",

  generator = { weights = "packed", panel = 64 },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    for _, projection in ipairs { { k.q, k.acc_q }, { k.k, k.acc_k }, { k.v, k.acc_v } } do
      local out, acc = projection[1], projection[2]
      out:dim(0):set_min(0)
      gemm.register_tiles(acc:in_():compute_root(), acc, gemm.packed(target, k.x, k.x_f, {
        shared = true, m = out:dim(1):extent(), panel = p.panel,
      }))
      out:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
    end
  end,
}
