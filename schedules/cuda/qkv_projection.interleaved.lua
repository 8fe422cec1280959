-- The three projections of few rows with weights in interleaved blocks (halyard_interleave_blocks), without tensor cores: all that takes
-- time is to read the weights. Each is a kernel as gemm_q.interleaved.lua has it.

local gemm_q = require "lib.gpu_gemm_q"

return schedule "qkv_projection" {
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
    for _, name in ipairs { "q", "k", "v" } do gemm_q.by_threads(k[name], p, { gemm_q.product(k, "w_" .. name) }) end
  end,
}
