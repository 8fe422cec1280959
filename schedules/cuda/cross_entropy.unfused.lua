-- Cross-entropy without fusion: logits in f32, maxima, sums, logarithms and losses, each a kernel of its own over all
-- rows, as a chain of library calls would be.

local gpu = require "lib.gpu"

return schedule "cross_entropy" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, vector = gpu.vector_of(k.logits), unroll = p.unroll }
    gpu.vectors(k.x:compute_root(), o)
    gpu.reduce_rows(k.row_max, "col", o)
    gpu.reduce_rows(k.row_sum, "col", o)
    if k:has "sum" then gpu.reduce_rows(k.sum, "col", o) end
    gpu.elements(k.log_sum:compute_root(), o)
    gpu.elements(k.loss, o)
  end,
}
