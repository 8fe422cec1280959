-- The feed-forward block without fusion: statistics of the rows, the three products on the tensor cores, the
-- activation, h and the result with its residual, each a kernel of its own.

local elementwise = require "lib.gpu_elementwise"
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
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, default = 128 },
    stages  = tune { 2, 3, 4, default = 3 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, vector = grid.vector_of(k.x), unroll = p.unroll }
    reduce.rows(k.sum_sq, "k", o)
    elementwise.elements(k.inv_rms:compute_root(), o)
    for _, acc in ipairs { k.gate, k.up, k.acc } do gemm.tensor_tiles(acc:in_():compute_root(), acc, p) end
    elementwise.vectors(k.activated:compute_root(), o)
    elementwise.vectors(k.h:compute_root(), o)
    elementwise.vectors(k.y, o)
  end,
}
