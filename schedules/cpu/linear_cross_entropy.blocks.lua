-- Cross-entropy from the hidden states with weights of 4 to 8 bits, as they lie in a file: dot products along k in the SIMD lanes make the
-- logits of a panel of columns for a few rows in L1, of which a few numbers are kept. Rows in 8 bits are rounded once.

local blocks = require "lib.blocks"
local logits = require "lib.logits"

return schedule "linear_cross_entropy" {
  target = "cpu",

  generator = { weights = "blocks", panel = tune { 32, 64, 128, default = 64 } },

  params = {
    columns = tune { 1, 2, 4, default = 1 }, -- of a tile of dot products
    rows    = tune { 2, 4, default = 4 },       -- of a tile
    strip   = tune { 4, 16, 64, default = 16 }, -- rows of a task
    ahead   = tune { 0, 2048, 4096, default = 4096 }, -- bytes that weights for rows in 8 bits are prefetched
  },

  where = function(p) return p.columns * p.rows <= 8 end,

  apply = function(k, p, target)
    logits.fused_blocks(k, blocks.logits_by_dots(k, p, k.loss:dim(0):extent()), {
      panel = p.panel, strip = p.strip, lanes = target:lanes "f32", over_p = { "row_max", "row_sum", "label_logit" },
    })
    k.row_lse:compute_root()
  end,
}
