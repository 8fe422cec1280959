-- Cross-entropy from the hidden states with weights in interleaved blocks (halyard_interleave_blocks), of any number of rows: SIMD lanes
-- are columns. The logits of a panel for some rows are made in L1, and a few numbers of them are kept. Rows in 8 bits are rounded once.

local blocks = require "lib.blocks"
local logits = require "lib.logits"

return schedule "linear_cross_entropy" {
  target = "cpu",

  generator = {
    weights = "blocks", sums = "columns",
    interleaved = tune { 8, 16, 32, default = 16 },
    panel = tune { 32, 64, 128, default = 64 },
  },

  params = {
    rows  = tune { 0, 2, 4, 6, 8, default = 4 }, -- of a register tile; 0: what registers hold
    strip = tune { 16, 32, 64, default = 32 }, -- rows of a task
  },

  apply = function(k, p, target)
    logits.fused_blocks(k, blocks.logits_interleaved(k, p, k.loss:dim(0):extent(), target), {
      panel = p.panel, strip = p.strip, lanes = target:lanes "f32", over_p = { "row_max", "row_sum", "label_logit" },
    })
    k.row_lse:compute_root()
  end,
}
