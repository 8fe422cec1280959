-- The front of attention without fusion: the angles, the sums of the tensor cores, what norms sum up, the turned heads and their scales go
-- to memory, each by a kernel of its own, and then the rows that the slots name.

local elementwise = require "lib.gpu_elementwise"
local gemm = require "lib.gpu_gemm"
local gpu = require "lib.gpu_qkv_rope"

return schedule "qkv_rope" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
  },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, default = 128 },
    stages  = tune { 2, 3, 4, default = 4 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    elementwise.vectors(k.angle_turn:compute_root(), {
      col = "member", rows = { "block", "token" }, threads = p.threads, unroll = p.unroll, vector = 1,
    })
    gpu.products(k, p)
    for _, to in ipairs(gpu.projections(k)) do gpu.in_passes(k, to, p) end
  end,
}
