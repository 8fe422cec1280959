-- A float32 product on the tensor cores, which read TF32 (10 bits of mantissa), and sum in float32. They take weights as
-- torch.nn.Linear has them (n x k): a block keeps a tile of sums in registers, and applies scale, bias, activation and residual
-- to it there.

local gemm = require "lib.gpu_gemm"

return schedule "gemm" {
  target = "cuda",

  generator = { type = "float32", tf32 = "true", weights = "nk" },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, 256, default = 256 },
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 }, -- fetched ahead; a stage takes 128 (rows + columns) bytes
    raster  = tune { 4, 8, 16, default = 16 },     -- rows of tiles taken together
  },

  where = function(p, target)
    -- Shared memory: the stages, and a part of the tile on its way out.
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    gemm.tensor_tiles(k.y, k.acc, p, { operand_bytes = 4 })
  end,
}
