-- Cross-entropy without fusion: all logits go to memory, then a pass over them makes the losses.

local logits = require "lib.logits"

return schedule "linear_cross_entropy" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    logits.unfused(k, p, target, k.loss:dim(0):extent(), { "row_max", "row_sum", "label_logit" })
    k.row_lse:compute_root()
  end,
}
