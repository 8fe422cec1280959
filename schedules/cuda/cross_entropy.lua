-- Cross-entropy with a block a row of logits: maximum, sum and loss in one kernel.

local gpu = require "lib.gpu"

return schedule "cross_entropy" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, 1024, default = 512 },
    vector  = tune { 2, 4, 8, default = 8 },
    unroll  = tune { 1, 2, 4, 8, default = 4 }, -- of which so many are in flight
  },

  apply = function(k, p)
    local o = { at = { k.loss, "row" }, threads = p.threads, vector = p.vector, unroll = p.unroll }
    k.loss:gpu_blocks "row"
    gpu.reduce(k.row_max, "col", o)
    gpu.reduce(k.row_sum, "col", o)
    if k:has "sum" then gpu.reduce(k.sum, "col", o) end
    gpu.each_thread(k.log_sum, o)
  end,
}
