-- The router without fusion: all logits go to memory, then the experts that were found, then the
-- exponentials, then their sums, each its own pass over all tokens.

local gemm = require "lib.gemm"
local router = require "lib.router"
local rows = require "lib.rows"

return schedule "moe_router" {
  target = "cpu",

  generator = {
    weights = "packed", panel = 32,
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  apply = function(k, p, target)
    local product = k.acc:in_():compute_root()
    gemm.register_tiles(product, k.acc, gemm.packed(target, k.x, k.x_f, {
      col = "e", m = k.scores:dim(1):extent(), panel = p.panel,
    }))
    rows.materialise({ k.order }, { row = "row", inner = "e", lanes = target:lanes "f32", task = 8 })
    rows.materialise(router.stages(k), { row = "row", task = 8 })
    rows.materialise({ k.top, k.weight, k.chosen }, { row = "row", task = 8 })
    k.top:update(0):parallel("row", 8, "guard")
    if k:has "sum" then k.sum:update(0):parallel("row", 8, "guard") end
  end,
}
