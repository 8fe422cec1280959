-- The three projections with weights of 4 to 8 bits without fusion: each product goes to memory, then a pass adds its bias.

local blocks = require "lib.blocks"

return schedule "qkv_projection" {
  target = "cpu",

  generator = { weights = "blocks" },

  apply = function(k, p, target)
    blocks.quantised_rows(k, "x", {})
    for name, acc in pairs { q = k.acc_q, k = k.acc_k, v = k.acc_v } do
      local out = k[name]
      blocks.dots(acc:in_():compute_root(), { blocks.product(k, acc, "w_" .. name, "x") }, {
        m = out:dim(1):extent(), columns = 1, rows = 4, task = 16, ahead = 4096,
      })
      out:parallel("row", 8, "guard"):vectorize("col", target:lanes "f32", "guard")
    end
  end,
}
