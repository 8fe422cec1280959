-- Rows in another type, in one pass.

local elementwise = require "lib.gpu_elementwise"

return schedule "convert" {
  target = "cuda",

  params = {
    threads = tune { 64, 128, 256, default = 64 },
    unroll  = tune { 1, 2, 4, default = 1 },
  },

  apply = function(k, p)
    elementwise.vectors(k.y, { rows = { "row" }, threads = p.threads, unroll = p.unroll })
  end,
}
