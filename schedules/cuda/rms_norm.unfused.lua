-- RMSNorm without fusion: x + residual, sums of squares, scales and the result, each a kernel of its own over all
-- rows, as a chain of library calls would be. What it costs against rms_norm.lua is the traffic between them.

local gpu = require "lib.gpu"

return schedule "rms_norm" {
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
    gpu.reduce_rows(k.sum_sq, "col", o)
    gpu.elements(k.inv_rms:compute_root(), o)
    if k:has "peak" then
      gpu.reduce_rows(k.peak, "col", o)
      gpu.elements(k.inv_scale:compute_root(), o)
      gpu.elements(k.row_scale, o)
    end
    gpu.vectors(k.y, o)
  end,
}
