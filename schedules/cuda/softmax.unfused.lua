-- Softmax without fusion: logits, maxima, exponentials, sums and the result, each a kernel of its own over all rows,
-- as a chain of library calls would be. What it costs against softmax.lua is the traffic between them.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "softmax" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, vector = grid.vector_of(k.x), unroll = p.unroll }
    elementwise.vectors(k.logits:compute_root(), o)
    reduce.rows(k.row_max, "col", o)
    elementwise.vectors(k.weight:compute_root(), o)
    reduce.rows(k.row_sum, "col", o)
    elementwise.elements((k:has "log_sum" and k.log_sum or k.inv_sum):compute_root(), o)
    elementwise.vectors(k.y, o)
  end,
}
