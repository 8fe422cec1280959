-- RMSNorm folded into the product behind it, on the tensor cores: x goes in as it is, and the sums are scaled by
-- 1 / rms of their row where they are. The statistics are a kernel of their own that reads x once.

local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "rms_norm_gemm" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk", folded = true,
  },

  params = {
    rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile; 0: the sizes of a call decide
    columns = tune { 0, 32, 64, 128, 192, 256, default = 0 },
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 64, 128, 256, default = 128 }, -- of a row's statistics
    invariant = grid.invariant, -- a row's result is the same bits for any number of rows
  },

  where = function(p, target)
    if p.rows == 0 or p.columns == 0 then return gemm.sizes_decide(p, 3) end
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  versions = function(k, p, target)
    if p.rows > 0 then return { {} } end
    local size = { rows = k.x:dim(1):extent(), columns = k.w_nk:dim(1):extent(), depth = k.x:dim(0):extent() }
    return gemm.versions(size, target, { in_one_block = true, invariant = p.invariant })
  end,

  apply = function(k, p)
    reduce.row_statistic(k.inv_rms, k.sum_sq, "k", { threads = p.threads, vector = 8, unroll = 4 })
    gemm.tensor_tiles(k.y, k.acc, p)
  end,
}
