-- Cross-entropy from the hidden states for AVX2 and AVX-512, weights packed into panels. A panel of the
-- vocabulary for a tile of rows is accumulated in registers, and only its maximum, the sum of its
-- exponentials, and the logit of the label if it is there are kept: 12 bytes in place of 192. Few
-- rows run at the speed at which the weights come from memory.

local gemm = require "lib.gemm"
local logits = require "lib.logits"

return schedule "linear_cross_entropy" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
  },

  params = {
    rows = tune { 0, 4, 6, 8, 12, default = 0 }, -- of the register tile, with 32 registers; 0: what suits the panel
    task = tune { 4, 8, 16, 32, default = 16 }, -- register tiles a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    logits.fused(k, p, target, k.loss:dim(0):extent(), { "row_max", "row_sum", "label_logit" })
    k.row_lse:compute_root()
  end,
}
