-- Products of a few rows with interleaved blocks, as gemm_q.interleaved.lua has them; of gate and up a block has the same columns of both.

local gemm_q = require "lib.gpu_gemm_q"

return schedule "product" {
  target = "cuda",

  generator = {
    format = gemm_q.formats,
    interleaved = tune { 8, 16, 32, default = 16 },
    parts = tune { 4, 8, 16, 24, 32, default = 8 }, -- of the depth, by threads
  },

  params = gemm_q.params_of_few(),

  where = gemm_q.few_fit,

  versions = gemm_q.versions_of_few,

  apply = function(k, p)
    local weights = { gemm_q.weights(k, "w") }
    if k:has "w_up_bytes" then table.insert(weights, gemm_q.weights(k, "w_up")) end
    local factors = k:has "norm_f" and k.norm_f
    gemm_q.by_threads(k.y, p, { { partial = k.partial, gathered = k.gathered, weights = weights, row = k.x_f, factors = factors } })
  end,
}
