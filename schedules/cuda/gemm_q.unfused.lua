-- A product with weights of 4 and 8 bits without fusion: the sums of the tensor cores, scale and bias, the activation and the result, each
-- a kernel of its own.

local gemm = require "lib.gpu_gemm"

return schedule "gemm_q" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    format = tune { "int4", "int8", default = "int4" },
    rounded = true,
  },

  params = {
    by_warps = 0, turns = 1, -- which few rows want
    rows    = tune { 64, 128, 256, default = 256 },
    columns = tune { 64, 128, default = 128 },
    stages  = tune { 2, 3, 4, default = 3 },
    raster  = tune { 4, 8, 16, default = 8 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = gemm.unfused,
}
