-- Softmax without fusion: logits, maxima, exponentials, sums and the result, each a kernel of its own over all rows,
-- as a chain of library calls would be. What it costs against softmax.lua is the traffic between them.

local gpu = require "lib.gpu"

return schedule "softmax" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, vector = gpu.vector_of(k.x), unroll = p.unroll }
    gpu.vectors(k.logits:compute_root(), o)
    gpu.reduce_rows(k.row_max, "col", o)
    gpu.vectors(k.weight:compute_root(), o)
    gpu.reduce_rows(k.row_sum, "col", o)
    gpu.elements((k:has "log_sum" and k.log_sum or k.inv_sum):compute_root(), o)
    gpu.vectors(k.y, o)
  end,
}
