-- Products of few rows with weights in interleaved blocks (halyard_interleave_blocks), on the tensor cores: all that takes time is to read
-- the weights. Integers of a block are exact in 16 bits, an f32 is the sum of three bfloat16, and a block's sum is multiplied by the scale,
-- before which it may leave the range of float32 where rows have numbers above 10^34. It is quicker than gemm_q.interleaved by rows of 16
-- bits, and by four to eight rows in f32.

local gemm_q = require "lib.gpu_gemm_q"

return schedule "gemm_q" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", "float32", default = "bfloat16" },
    sums = "warps",
    format = tune { "q4_0", "q8_0", default = "q4_0" },
    interleaved = tune { 16, 32, default = 16 },
    parts = tune { 8, 16, 24, 32, default = 8 }, -- of the depth, by warps
  },

  params = {
    turns = tune { 1, 2, 3, 4, default = 4 }, -- blocks of a part that are loaded together
  },

  apply = function(k, p) gemm_q.by_warps(k, p, { columns = p.interleaved, rows = 8 }) end,
}
