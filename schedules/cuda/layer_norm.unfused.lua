-- LayerNorm without fusion: x + residual, sums, means, sums of squares, scales and the result, each a kernel of its
-- own over all rows, as a chain of library calls would be. What it costs against layer_norm.lua is the traffic between
-- them.

local gpu = require "lib.gpu"

return schedule "layer_norm" {
  target = "cuda",

  params = {
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, vector = gpu.vector_of(k.x), unroll = p.unroll }
    if k:has "residual" then
      gpu.vectors(k.h:compute_root(), o)
      gpu.vectors(k.residual_out, o)
    end
    gpu.reduce_rows(k.sum, "col", o)
    gpu.elements(k.mean:compute_root(), o)
    gpu.reduce_rows(k.sum_sq, "col", o)
    gpu.elements(k.inv_std:compute_root(), o)
    gpu.vectors(k.y, o)
  end,
}
