-- The reduction without fusion: the product goes to memory, then a pass over it reduces each row.

local logits = require "lib.logits"

return schedule "gemm_reduce" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    logits.unfused(k, p, target, k.y:dim(0):extent(), { "row_max", "row_sum" })
  end,
}
