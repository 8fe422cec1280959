-- The reduction without fusion: the product goes to memory, then a pass over it reduces each row.

local gemm = require "lib.gemm"
local logits = require "lib.logits"

return schedule "gemm_reduce" {
  target = "cpu",

  generator = { weights = "packed", panel = 48 },

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.x, k.x_f, { m = k.y:dim(0):extent(), panel = p.panel, whole = true })
    gemm.reduced_tiles(k.logits:compute_root(), k.acc, tiles)
    k.logits:vectorize("j", tiles.lanes, "guard")
    k.part:compute_root():parallel "row"
    logits.reduce_panels(k, { "panel_max", "panel_sum" }, "p", p.panel)
    logits.reduce_rows(k, { "row_max", "row_sum" }, tiles.lanes)
  end,
}
