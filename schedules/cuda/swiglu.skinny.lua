-- SwiGLU of few rows on the tensor cores, where all that takes time is to read the weights: blocks of few columns of gate and of
-- up, several on a multiprocessor, whose warps share the depth.

local gemm = require "lib.gpu_gemm"
local rows = require "lib.gpu_rows"

return schedule "swiglu" {
  target = "cuda",

  generator = {
    type    = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
  },

  params = {
    rows    = tune { 16, 32, default = 16 },
    columns = tune { 16, 32, 48, 64, 96, default = 32 }, -- of each of the two
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 },    -- few, so that several blocks fit a multiprocessor
    raster  = tune { 4, 8, 16, default = 16 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 2 })
  end,

  apply = function(k, p)
    gemm.tensor_tiles(rows.quantised_after(k), { k.gate, k.up }, p)
  end,
}
