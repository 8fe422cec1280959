-- The front of attention on the tensor cores: the projections, whose sums go to L2 in f32; then one kernel, in which a warp takes a head of
-- a token, of q, k and v: norm by shuffles, rotation and scale in registers, and the row to where its slot says.

local gemm = require "lib.gpu_gemm"
local gpu = require "lib.gpu_qkv_rope"
local grid = require "lib.gpu_grid"

return schedule "qkv_rope" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
    granule = -1,
  },

  params = {
    rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile; 0: the sizes of a call decide
    columns = tune { 0, 32, 64, 128, 192, 256, default = 0 },
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 4 },
    raster  = tune { 4, 8, 16, default = 16 },
    vector  = tune { 0, 1, 2, 4, 8, default = 0 }, -- elements that a thread has at once; 0: by the pairs that are turned
    unroll  = tune { 1, 2, 4, default = 1 },       -- of them in flight
    invariant = grid.invariant, -- a row's result is the same bits for any number of rows
  },

  where = function(p, target)
    if p.rows == 0 or p.columns == 0 then return gemm.sizes_decide(p, 4) end
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  versions = function(k, p, target)
    return gpu.versions(k, p, target)
  end,

  apply = function(k, p)
    gpu.products(k, p)
    gpu.heads(k, p)
  end,
}
