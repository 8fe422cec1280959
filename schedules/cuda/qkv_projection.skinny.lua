-- The three projections of few rows on the tensor cores, one kernel: blocks of few columns, so that each multiprocessor reads
-- its part of the weights; fewer still where k and v have few.

local gemm = require "lib.gpu_gemm"

return schedule "qkv_projection" {
  target = "cuda",

  generator = {
    type    = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
  },

  params = {
    rows    = tune { 16, 32, default = 16 },
    columns = tune { 16, 32, 64, default = 32 },
    narrow  = tune { 16, 32, 64, default = 16 }, -- columns of k and v
    stages  = tune { 3, 4, 5, 6, 8, 12, default = 8 },
    raster  = tune { 4, 8, 16, default = 16 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 }) and p.narrow <= p.columns
  end,

  apply = function(k, p)
    local narrow = { rows = p.rows, columns = p.narrow, stages = p.stages, raster = p.raster }
    gemm.tensor_tiles(k.q, k.acc_q, p)
    gemm.tensor_tiles(k.k, k.acc_k, narrow)
    gemm.tensor_tiles(k.v, k.acc_v, narrow)
  end,
}
