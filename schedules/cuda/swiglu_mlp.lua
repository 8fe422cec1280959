-- The feed-forward block on the tensor cores in three kernels: the statistics of the rows; gate and up with
-- SwiGLU, whose sums are scaled by 1 / rms where they are; the product back, with the residual.

local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

local params = gemm.chain_params()
params.invariant = grid.invariant -- a row's result is the same bits for any number of rows

return schedule "swiglu_mlp" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk", folded = true,
  },

  params = params,

  where = gemm.chain_fits,

  versions = function(k, p, target)
    if p.rows > 0 then return { {} } end
    return gemm.chain_versions(k, target, { invariant = p.invariant })
  end,

  apply = function(k, p)
    reduce.row_statistic(k.inv_rms, k.sum_sq, "k", { threads = p.threads, vector = 8, unroll = 4 })
    gemm.tensor_tiles(k.h:compute_root(), { k.gate, k.up }, p, { cluster = p.cluster })
    gemm.tensor_tiles(k.y, k.acc, gemm.back_of_chain(p), { cluster = p.back_cluster })
  end,
}
