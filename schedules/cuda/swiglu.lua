-- Both products and SwiGLU on the tensor cores: x is fetched once for gate and up, and what leaves the block is
-- the activated product of their sums.

local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"
local rows = require "lib.gpu_rows"

return schedule "swiglu" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
  },

  params = {
    rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile; 0: the sizes of a call decide
    columns = tune { 0, 32, 64, 96, 128, default = 0 }, -- of each of the two
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 4 },
    raster  = tune { 4, 8, 16, default = 16 },
    cluster = tune { 1, 2, 4, 8, default = 1 },    -- blocks that share the steps of a tile: few rows, long k
    invariant = grid.invariant, -- a row's result is the same bits for any number of rows
  },

  where = function(p, target)
    if p.rows == 0 or p.columns == 0 then return gemm.sizes_decide(p, 4) and p.cluster == 1 end
    if p.rows <= gemm.skinny and p.cluster > 1 then return false end
    return gemm.tiles_fit(p, target, { products = 2 })
  end,

  versions = function(k, p, target)
    if p.rows > 0 then return { {} } end
    local size = { rows = k.x:dim(1):extent(), columns = k.w_up_nk:dim(1):extent(), depth = k.x:dim(0):extent() }
    return gemm.versions(size, target, { products = 2, invariant = p.invariant })
  end,

  apply = function(k, p)
    gemm.tensor_tiles(rows.quantised_after(k), { k.gate, k.up }, p, { cluster = p.cluster })
  end,
}
