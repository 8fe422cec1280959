-- Each row of a product reduced to a number, without tensor cores: a block sums a panel of columns for a tile of
-- rows in registers, and only what the panel comes to is stored for each row. A second kernel reduces that.

local logits = require "lib.gpu_logits"

return schedule "gemm_reduce" {
  target = "cuda",

  generator = { weights = "nk", panel = tune { 64, 128, default = 128 } },

  params = {
    rows  = tune { 64, 128, default = 128 },
    depth = tune { 16, 32, default = 16 }, -- k of a step
  },

  apply = function(k, p)
    logits.fused(k, p, { "panel_max", "panel_sum" })
    logits.reduced_rows(k)
  end,
}
