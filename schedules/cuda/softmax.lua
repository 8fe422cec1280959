-- Softmax with a block a row: maximum, sum, output. The row comes from memory once and from L1 after that; the
-- exponentials are computed twice, which costs less than to keep them.

local gpu = require "lib.gpu"

return schedule "softmax" {
  target = "cuda",

  params = {
    threads = tune { 32, 64, 128, 256, 512, 1024, default = 128 },
    vector  = tune { 2, 4, 8, default = 8 },
    unroll  = tune { 1, 2, 4, 8, default = 4 }, -- of which so many are in flight
  },

  apply = function(k, p)
    local o = { at = { k.y, "row" }, threads = p.threads, vector = p.vector, unroll = p.unroll }
    gpu.row_blocks(k.y, o)
    k.y:stream()
    gpu.reduce(k.row_max, "col", o)
    gpu.reduce(k.row_sum, "col", o)
    gpu.each_thread(k:has "log_sum" and k.log_sum or k.inv_sum, o)
  end,
}
