-- The feed-forward block of few rows on the tensor cores, in three kernels: the statistics of the rows; gate and up with SwiGLU,
-- whose sums are scaled by 1 / rms where they are; the product back, with the residual. All that takes time is to read weights.

local gemm = require "lib.gpu_gemm"
local reduce = require "lib.gpu_reduce"

return schedule "swiglu_mlp" {
  target = "cuda",

  generator = {
    type    = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk", folded = true,
  },

  params = {
    rows        = tune { 16, 32, default = 16 },
    columns     = tune { 16, 32, 48, 64, 96, default = 32 }, -- of gate and of up
    stages      = tune { 2, 3, 4, 5, 6, 8, default = 3 },
    back        = tune { 16, 32, 64, default = 32 },         -- columns of the product back
    back_stages = tune { 3, 4, 5, 6, 8, 12, default = 8 },
    raster      = tune { 4, 8, 16, default = 16 },
    threads     = tune { 64, 128, 256, default = 256 },      -- of a row's statistics
  },

  where = function(p, target)
    local back = { rows = p.rows, columns = p.back, stages = p.back_stages }
    return gemm.tiles_fit(p, target, { products = 2 }) and gemm.tiles_fit(back, target, { products = 1 })
  end,

  apply = function(k, p)
    reduce.row_statistic(k.inv_rms, k.sum_sq, "k", { threads = p.threads, vector = 8, unroll = 4 })
    gemm.tensor_tiles(k.h:compute_root(), { k.gate, k.up }, p)
    gemm.tensor_tiles(k.y, k.acc, { rows = p.rows, columns = p.back, stages = p.back_stages, raster = p.raster })
  end,
}
