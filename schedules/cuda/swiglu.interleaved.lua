-- SwiGLU of few rows with weights in interleaved blocks (halyard_interleave_blocks), without tensor cores: all that takes time is to read
-- the weights. A block of threads has the same panel of gate and of up, one after the other, each as gemm_q.interleaved.lua has it.

local gemm_q = require "lib.gpu_gemm_q"
local rows = require "lib.gpu_rows"

return schedule "swiglu" {
  target = "cuda",

  generator = {
    weights = "blocks",
    sums = "lanes",
    format = gemm_q.formats,
    interleaved = tune { 8, 16, 32, default = 16 },
    parts = tune { 4, 8, 16, 24, 32, default = 16 }, -- of the depth, by threads
  },

  params = gemm_q.params_of_few(),

  where = gemm_q.few_fit,

  versions = gemm_q.versions_of_few,

  apply = function(k, p)
    gemm_q.by_threads(rows.quantised_after(k), p, { gemm_q.product(k, "w_gate"), gemm_q.product(k, "w_up") })
  end,
}
