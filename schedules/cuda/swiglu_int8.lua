-- Both products of 8 bits and SwiGLU on the tensor cores, weights transposed (n x k), as torch.nn.Linear has them: x is
-- fetched once for gate and up, and the sums of 32 bits are scaled, activated and multiplied where they are.

local gemm = require "lib.gpu_gemm"

return schedule "swiglu_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 96, 128, default = 128 }, -- of each of the two
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 4 },
    raster  = tune { 4, 8, 16, default = 16 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 2 })
  end,

  apply = function(k, p)
    gemm.tensor_tiles(k.y, { k.gate, k.up }, p)
  end,
}
