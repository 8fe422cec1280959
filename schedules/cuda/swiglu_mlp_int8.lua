-- The feed-forward block in 8 bits on the tensor cores, weights transposed (n x k), in four kernels: rows of x in 8 bits; gate
-- and up with SwiGLU, whose sums of 32 bits are scaled where they are; rows of h in 8 bits; the product back, with the residual.

local gemm = require "lib.gpu_gemm"
local rows = require "lib.gpu_rows"

return schedule "swiglu_mlp_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, default = 128 },           -- of gate and of up
    back    = tune { 64, 128, 192, 256, default = 256 }, -- columns of the product back
    stages  = tune { 2, 3, 4, default = 3 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 64, 128, 256, default = 256 },      -- that round a row
  },

  apply = function(k, p)
    local o = { threads = p.threads, vector = 8, unroll = 2 }
    rows.quantise(k.x_q, k.x_scale, { k.sum_sq, k.x_peak }, { k.x_inv }, o)
    gemm.tensor_tiles(k.h:compute_root(), { k.gate, k.up }, p)
    rows.quantise(k.h_q, k.h_scale, { k.h_peak }, { k.h_inv }, o)
    gemm.tensor_tiles(k.y, k.acc, { rows = p.rows, columns = p.back, stages = p.stages, raster = p.raster })
  end,
}
