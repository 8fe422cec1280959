-- Cross-entropy from the hidden states of many rows with weights of 4 to 8 bits, as they lie in a file: a task lays a panel of columns out
-- in L2, as f32 or for rows in 8 bits as integers, makes the logits of its rows in registers, and keeps a few numbers of them.

local blocks = require "lib.blocks"
local logits = require "lib.logits"

return schedule "linear_cross_entropy" {
  target = "cpu",

  generator = { weights = "blocks", sums = "columns", panel = tune { 16, 32, default = 32 } },

  params = {
    rows  = tune { 0, 2, 4, 6, 8, default = 0 },    -- of the register tile; 0: what suits the panel
    strip = tune { 32, 64, 128, default = 128 }, -- rows of a task
  },

  apply = function(k, p, target)
    logits.fused_blocks(k, blocks.logits_by_panels(k, p, k.loss:dim(0):extent(), target), {
      panel = p.panel, strip = p.strip, lanes = target:lanes "f32", over_p = { "row_max", "row_sum", "label_logit" },
    })
    k.row_lse:compute_root()
  end,
}
