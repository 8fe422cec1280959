-- The feed-forward block in 8 bits on the tensor cores, weights transposed (n x k), in four kernels: rows of x in 8 bits; gate
-- and up with SwiGLU, whose sums of 32 bits are scaled where they are; rows of h in 8 bits; the product back, with the residual.

local gemm = require "lib.gpu_gemm"
local rows = require "lib.gpu_rows"

return schedule "swiglu_mlp_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = gemm.chain_params(),

  where = gemm.chain_fits,

  versions = function(k, p, target)
    if p.rows > 0 then return { {} } end
    return gemm.chain_versions(k, target, { operand_bytes = 1 })
  end,

  apply = function(k, p)
    local o = { threads = p.threads, vector = 8, unroll = 2 }
    rows.quantise(k.x_q, k.x_scale, { k.sum_sq, k.x_peak }, { k.x_inv }, o)
    gemm.tensor_tiles(k.h:compute_root(), { k.gate, k.up }, p, { cluster = p.cluster })
    rows.quantise(k.h_q, k.h_scale, { k.h_peak }, { k.h_inv }, o)
    gemm.tensor_tiles(k.y, k.acc, gemm.back_of_chain(p), { cluster = p.back_cluster })
  end,
}
