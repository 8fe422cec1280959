-- BatchNorm without care: scale and shift of the channel are computed anew for each vector. Kept to compare with.

local gpu = require "lib.gpu"

return schedule "batch_norm" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { threads = p.threads, unroll = p.unroll }
    if k:has "y" then
      o.col, o.rows = "w", { "h", "c", "n" }
    else
      o.col, o.rows = "c", { "w", "h", "n" }
    end
    gpu.vectors(k:has "y" and k.y or k.y_nhwc, o)
  end,
}
