-- A matrix product of numbers of 8 bits without fusion: the sums of the tensor cores, their value with scales and bias, the activation and
-- the result, each a kernel of its own. The product is as fast as in gemm_fp8.lua, so the difference between the two is what fusing
-- the epilogue gains.

local gemm = require "lib.gpu_gemm"

return schedule "gemm_fp8" {
  target = "cuda",

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, 256, default = 128 },
    stages  = tune { 2, 3, 4, default = 4 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  where = function(p, target)
    -- Shared memory: the stages, and a part of the tile on its way out.
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    gemm.float8_tiles(k, k.acc:in_():compute_root(), p, {})
    gemm.unfused_epilogue(k, p)
  end,
}
