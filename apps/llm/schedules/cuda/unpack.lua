-- Weights in interleaved blocks as numbers, in one pass.

local gemm_q = require "lib.gpu_gemm_q"

return schedule "unpack" {
  target = "cuda",

  generator = { interleaved = tune { 8, 16, 32, default = 16 } },

  apply = function(k, p) gemm_q.unpack(k.y, p) end,
}
