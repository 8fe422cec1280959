-- A matrix product in 8 bits on the tensor cores, weights transposed (n x k), as torch.nn.Linear has them: a block keeps
-- a tile of sums of 32 bits in registers, and applies scales, zero points, bias, activation and residual to it there.

local gemm = require "lib.gpu_gemm"

return schedule "gemm_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, 256, default = 256 },
    stages  = tune { 2, 3, 4, 5, 6, default = 3 }, -- fetched ahead; a stage takes 128 (rows + columns) bytes
    raster  = tune { 4, 8, 16, default = 16 },     -- rows of tiles taken together
  },

  where = function(p, target)
    -- Shared memory: the stages, and a part of the tile on its way out.
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    gemm.tensor_tiles(k.y, k.acc, p)
  end,
}
