-- The same without fusion: all logits go to memory, then a pass over them reduces the panels of each row, and one
-- these.

local logits = require "lib.gpu_logits"

return schedule "linear_cross_entropy" {
  target = "cuda",

  generator = { weights = "nk", panel = 128 },

  params = {
    rows  = tune { 64, 128, default = 128 },
    depth = tune { 16, 32, default = 16 },
  },

  apply = function(k, p)
    logits.unfused(k, p, { "panel_max", "panel_sum", "panel_label" })
    logits.losses_of_rows(k)
  end,
}
