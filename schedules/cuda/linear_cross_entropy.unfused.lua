-- The same without fusion: all logits go to memory, then a pass over them reduces the panels of each row, and one
-- these.

local gpu = require "lib.gpu"
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
    k.row_lse:compute_root():gpu_blocks "row"
    logits.over_panels(k, { "row_max", "row_sum" }, { k.row_lse, "row" })
    k.loss:gpu_blocks "row"
    logits.over_panels(k, { "label_logit" }, { k.loss, "row" })
    gpu.elements(k.lse, { rows = { "row" }, threads = 128 })
  end,
}
