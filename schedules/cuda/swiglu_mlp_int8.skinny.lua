-- The feed-forward block of few rows in 8 bits on the tensor cores, in the four kernels of swiglu_mlp_int8.lua. All that takes
-- time is to read weights.

local gemm = require "lib.gpu_gemm"
local rows = require "lib.gpu_rows"

return schedule "swiglu_mlp_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = {
    rows        = tune { 16, 32, default = 16 },
    columns     = tune { 16, 32, 64, default = 32 },    -- of gate and of up
    stages      = tune { 2, 3, 4, 5, 6, 8, default = 3 },
    back        = tune { 16, 32, 64, default = 32 },    -- columns of the product back
    back_stages = tune { 3, 4, 5, 6, 8, 12, default = 8 },
    raster      = tune { 4, 8, 16, default = 16 },
    threads     = tune { 64, 128, 256, default = 256 }, -- that round a row
  },

  where = function(p, target)
    local back = { rows = p.rows, columns = p.back, stages = p.back_stages }
    return gemm.tiles_fit(p, target, { products = 2 }) and gemm.tiles_fit(back, target, { products = 1 })
  end,

  apply = function(k, p)
    local o = { threads = p.threads, vector = 8, unroll = 2 }
    rows.quantise(k.x_q, k.x_scale, { k.sum_sq, k.x_peak }, { k.x_inv }, o)
    gemm.tensor_tiles(k.h:compute_root(), { k.gate, k.up }, p)
    rows.quantise(k.h_q, k.h_scale, { k.h_peak }, { k.h_inv }, o)
    gemm.tensor_tiles(k.y, k.acc, { rows = p.rows, columns = p.back, stages = p.back_stages, raster = p.raster })
  end,
}
