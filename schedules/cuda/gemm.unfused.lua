-- A matrix product without fusion: the sums of the tensor cores, scale and bias, the activation and the result,
-- each a kernel of its own, as a chain of library calls would be. The product is as fast as in gemm.lua, so the
-- difference between the two is what fusing the epilogue gains.

local gemm = require "lib.gpu_gemm"

return schedule "gemm" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "kn",
  },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, default = 128 },
    stages  = tune { 2, 3, 4, default = 3 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = gemm.unfused,
}
