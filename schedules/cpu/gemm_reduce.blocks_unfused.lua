-- A reduction of each row of a product with weights of 4 to 8 bits without fusion: all logits go to memory, then a pass over them.

local blocks = require "lib.blocks"
local logits = require "lib.logits"

return schedule "gemm_reduce" {
  target = "cpu",

  generator = { weights = "blocks", panel = 64 },

  params = { columns = 1, rows = 4, ahead = 4096 }, -- of the dot products

  apply = function(k, p, target)
    logits.unfused_blocks(k, blocks.logits_by_dots(k, p, k.y:dim(0):extent()), {
      panel = p.panel, lanes = target:lanes "f32", over_p = { "row_max", "row_sum" },
    })
  end,
}
