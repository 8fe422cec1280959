-- A cache as f16, in one pass.

local elementwise = require "lib.gpu_elementwise"

return schedule "widen_cache" {
  target = "cuda",

  params = {
    threads = tune { 64, 128, 256, default = 64 },
    unroll  = tune { 1, 2, 4, default = 1 },
  },

  apply = function(k, p)
    elementwise.vectors(k.y, { rows = { "key", "head", "part" }, threads = p.threads, unroll = p.unroll })
  end,
}
