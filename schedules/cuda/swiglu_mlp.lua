-- The feed-forward block on the tensor cores in three kernels: the statistics of the rows; gate and up with
-- SwiGLU, whose sums are scaled by 1 / rms where they are; the product back, with the residual.

local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "swiglu_mlp" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk", folded = true,
  },

  params = {
    rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile of gate and up; 0: the sizes of a call decide
    columns = tune { 0, 16, 32, 64, 96, 128, default = 0 },  -- of each of the two
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 },
    cluster = tune { 1, 2, 4, 8, default = 1 },              -- blocks that share the steps of a tile
    back_rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile of the product back; 0: as many
    back         = tune { 0, 16, 32, 64, 128, 192, 256, default = 0 }, -- its columns
    back_stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 },
    back_cluster = tune { 1, 2, 4, 8, default = 1 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 64, 128, 256, default = 128 },          -- of a row's statistics
    invariant = grid.invariant, -- a row's result is the same bits for any number of rows
  },

  where = function(p, target)
    local back = { rows = p.back_rows > 0 and p.back_rows or p.rows, columns = p.back, stages = p.back_stages }
    if p.rows == 0 or p.columns == 0 or p.back == 0 then
      return gemm.sizes_decide(p, 3) and gemm.sizes_decide(back, 3) and p.cluster == 1 and p.back_cluster == 1
    end
    if (p.rows <= gemm.skinny and p.cluster > 1) or (back.rows <= gemm.skinny and p.back_cluster > 1) then return false end
    return gemm.tiles_fit(p, target, { products = 2 }) and gemm.tiles_fit(back, target, { products = 1 })
  end,

  versions = function(k, p, target)
    if p.rows > 0 then return { {} } end
    local rows, hidden, depth = k.x:dim(1):extent(), k.w_up_nk:dim(1):extent(), k.x:dim(0):extent()
    local size = { rows = rows, columns = hidden, depth = depth }
    return gemm.chain_versions(size, { rows = rows, columns = k.w_down_nk:dim(1):extent(), depth = hidden }, target, p.invariant)
  end,

  apply = function(k, p)
    reduce.row_statistic(k.inv_rms, k.sum_sq, "k", { threads = p.threads, vector = 8, unroll = 4 })
    gemm.tensor_tiles(k.h:compute_root(), { k.gate, k.up }, p, { cluster = p.cluster })
    local back = { rows = p.back_rows > 0 and p.back_rows or p.rows, columns = p.back, stages = p.back_stages, raster = p.raster }
    gemm.tensor_tiles(k.y, k.acc, back, { cluster = p.back_cluster })
  end,
}
