-- Cross-entropy from the hidden states, without tensor cores: a block sums a panel of the vocabulary for a tile of
-- rows in registers, and only its maximum, the sum of its exponentials and the logit of the label if it is there
-- are stored for each row. A second kernel puts the panels together.

local logits = require "lib.gpu_logits"

return schedule "linear_cross_entropy" {
  target = "cuda",

  generator = { weights = "nk", panel = tune { 64, 128, default = 128 } },

  params = {
    rows  = tune { 64, 128, default = 128 },
    depth = tune { 16, 32, default = 16 }, -- k of a step
  },

  apply = function(k, p)
    logits.fused(k, p, { "panel_max", "panel_sum", "panel_label" })
    logits.losses_of_rows(k)
  end,
}
