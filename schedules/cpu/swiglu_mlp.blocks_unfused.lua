-- The feed-forward block with weights of 4 to 8 bits without fusion: x times the norm's weight, both products, the activation, h, and the
-- product back go to memory, each its own pass over all rows.

local blocks = require "lib.blocks"
local norm = require "lib.norm"
local rows = require "lib.rows"

return schedule "swiglu_mlp" {
  target = "cpu",

  generator = { weights = "blocks" },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local tile = { m = k.y:dim(1):extent(), columns = 1, rows = 4, task = 16, ahead = 4096 }
    norm.statistics(k, lanes)
    rows.materialise({ k.weighted }, { row = "row", inner = "k", lanes = lanes, task = 8 })
    blocks.quantised_rows(k, "x", {})
    for name, acc in pairs { w_gate = k.gate, w_up = k.up } do
      blocks.dots(acc:in_():compute_root(), { blocks.product(k, acc, name, "x") }, tile)
    end
    rows.materialise({ k.activated, k.h }, { row = "row", inner = "col", lanes = lanes, task = 8 })
    blocks.quantised_rows(k, "h", {})
    blocks.dots(k.acc:in_():compute_root(), { blocks.product(k, k.acc, "w_down", "h") }, tile)
    k.y:parallel("row", 8, "guard"):vectorize("col", lanes, "guard")
  end,
}
