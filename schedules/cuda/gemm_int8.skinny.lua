-- A product of few rows in 8 bits on the tensor cores, where all that takes time is to read the weights (n x k): blocks of few
-- columns, so that each multiprocessor reads its part of them, whose warps share the depth.

local gemm = require "lib.gpu_gemm"

return schedule "gemm_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = {
    rows    = tune { 16, 32, default = 16 },
    columns = tune { 16, 32, 64, default = 32 },
    stages  = tune { 3, 4, 5, 6, 8, 12, default = 8 }, -- fetched ahead; a stage takes 256 (rows + columns) bytes
    raster  = tune { 4, 8, 16, default = 16 },         -- rows of tiles taken together
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    gemm.tensor_tiles(k.y, k.acc, p)
  end,
}
