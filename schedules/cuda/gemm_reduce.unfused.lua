-- The same without fusion: the product goes to memory, then a pass over it reduces the panels of each row, and one
-- these.

local logits = require "lib.gpu_logits"

return schedule "gemm_reduce" {
  target = "cuda",

  generator = { weights = "nk", panel = 128 },

  params = {
    rows  = tune { 64, 128, default = 128 },
    depth = tune { 16, 32, default = 16 },
  },

  apply = function(k, p)
    logits.unfused(k, p, { "panel_max", "panel_sum" })
    logits.reduced_rows(k)
  end,
}
