-- Products of many rows in f32 with weights in interleaved blocks, on the tensor cores as TF32 (10 bits of mantissa): the weights are
-- made f32 once for all rows, in a kernel of their own.

local gemm = require "lib.gpu_gemm"
local gemm_q = require "lib.gpu_gemm_q"

return schedule "gemm_q" {
  target = "cuda",

  generator = {
    type = "float32", tf32 = "true", sums = "columns",
    format = gemm_q.formats,
    interleaved = tune { 8, 16, 32, default = 16 },
  },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, 256, default = 128 },
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 4 }, -- fetched ahead; a stage takes 128 (rows + columns) bytes
    raster  = tune { 4, 8, 16, default = 16 },     -- rows of tiles taken together
  },

  where = function(p, target) return gemm.tiles_fit(p, target, { products = 1 }) end,

  apply = function(k, p)
    gemm_q.unpack(k.w_f:compute_root(), p)
    gemm.tensor_tiles(k.y, k.acc, p, { operand_bytes = 4 })
  end,
}
