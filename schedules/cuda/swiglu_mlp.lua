-- The feed-forward block on the tensor cores in three kernels: the statistics of the rows; gate and up with
-- SwiGLU, whose sums are scaled by 1 / rms where they are; the product back, with the residual.

local gemm = require "lib.gpu_gemm"
local reduce = require "lib.gpu_reduce"

return schedule "swiglu_mlp" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk", folded = true,
  },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, default = 128 },          -- of gate and of up
    back    = tune { 64, 128, 192, 256, default = 256 }, -- columns of the product back
    stages  = tune { 2, 3, 4, default = 3 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 64, 128, 256, default = 128 },
  },

  apply = function(k, p)
    reduce.row_statistic(k.inv_rms, k.sum_sq, "k", { threads = p.threads, vector = 8, unroll = 4 })
    gemm.tensor_tiles(k.h:compute_root(), { k.gate, k.up }, p)
    gemm.tensor_tiles(k.y, k.acc, { rows = p.rows, columns = p.back, stages = p.stages, raster = p.raster })
  end,
}
