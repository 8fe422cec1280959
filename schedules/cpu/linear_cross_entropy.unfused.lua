-- Cross-entropy without fusion: all logits go to memory, then a pass over them makes the losses.

local gemm = require "lib.gemm"
local logits = require "lib.logits"

return schedule "linear_cross_entropy" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { m = k.loss:dim(0):extent(), panel = p.panel, whole = true })
    gemm.reduced_tiles(k.logits:compute_root(), k.acc, tiles)
    k.logits:vectorize("j", tiles.lanes, "guard")
    k.part:compute_root():parallel "row"
    logits.reduce_panels(k, { "panel_max", "panel_sum" }, "p", p.panel)
    logits.reduce_rows(k, { "row_max", "row_sum", "label_logit" }, tiles.lanes)
    k.row_lse:compute_root()
  end,
}
