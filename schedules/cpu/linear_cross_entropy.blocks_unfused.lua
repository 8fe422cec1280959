-- Cross-entropy from the hidden states with weights of 4 to 8 bits without fusion: all logits go to memory, then a pass over them.

local blocks = require "lib.blocks"
local logits = require "lib.logits"

return schedule "linear_cross_entropy" {
  target = "cpu",

  generator = { weights = "blocks", panel = 64 },

  params = { columns = 1, rows = 4, ahead = 4096 }, -- of the dot products

  apply = function(k, p, target)
    logits.unfused_blocks(k, blocks.logits_by_dots(k, p, k.loss:dim(0):extent()), {
      panel = p.panel, lanes = target:lanes "f32", over_p = { "row_max", "row_sum", "label_logit" },
    })
    k.row_lse:compute_root()
  end,
}
