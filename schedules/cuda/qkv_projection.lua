-- The three projections on the tensor cores, one kernel: its blocks take the tiles of q, then those of k and of v. The tiles of x come
-- from L2.

local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"

return schedule "qkv_projection" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
  },

  params = {
    rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile; 0: the sizes of a call decide
    columns = tune { 0, 32, 64, 128, 192, 256, default = 0 },
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 4 },
    raster  = tune { 4, 8, 16, default = 16 },
    invariant = grid.invariant, -- a row's result is the same bits for any number of rows
  },

  where = function(p, target)
    if p.rows == 0 or p.columns == 0 then return gemm.sizes_decide(p, 4) end
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  versions = function(k, p, target)
    if p.rows > 0 then return { {} } end
    local columns = { k.w_q_nk:dim(1):extent(), k.w_k_nk:dim(1):extent(), k.w_v_nk:dim(1):extent() }
    local size = { rows = k.x:dim(1):extent(), columns = columns, depth = k.x:dim(0):extent() }
    return gemm.versions(size, target, { in_one_block = true, invariant = p.invariant })
  end,

  apply = function(k, p)
    gemm.tensor_tiles(k.q, k.acc_q, p)
    gemm.tensor_tiles(k.k, k.acc_k, p)
    gemm.tensor_tiles(k.v, k.acc_v, p)
  end,
}
