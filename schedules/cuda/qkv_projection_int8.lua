-- The three projections in 8 bits on the tensor cores, weights transposed (n x k), one kernel, which scales the sums of
-- 32 bits and adds the bias where they are. Its blocks take the tiles of q, then those of k and of v; the tiles of x come from L2.

local gemm = require "lib.gpu_gemm"

return schedule "qkv_projection_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, 256, default = 128 },
    stages  = tune { 2, 3, 4, 5, 6, default = 4 },
    raster  = tune { 4, 8, 16, default = 16 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    gemm.tensor_tiles(k.q, k.acc_q, p)
    gemm.tensor_tiles(k.k, k.acc_k, p)
    gemm.tensor_tiles(k.v, k.acc_v, p)
  end,
}
