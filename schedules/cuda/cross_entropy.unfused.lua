-- Cross-entropy without fusion: logits in f32, maxima, sums, logarithms and losses, each a kernel of its own over all
-- rows, as a chain of library calls would be.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "cross_entropy" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, vector = grid.vector_of(k.logits), unroll = p.unroll }
    elementwise.vectors(k.x:compute_root(), o)
    reduce.rows(k.row_max, "col", o)
    reduce.rows(k.row_sum, "col", o)
    if k:has "sum" then reduce.rows(k.sum, "col", o) end
    elementwise.elements(k.log_sum:compute_root(), o)
    elementwise.elements(k.loss, o)
  end,
}
