-- A product with weights of 4 and 8 bits without fusion: the sums of the tensor cores, scale and bias, the activation and the result, each
-- a kernel of its own.

local elementwise = require "lib.gpu_elementwise"
local gemm = require "lib.gpu_gemm"

return schedule "gemm_q" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    format = tune { "int4", "int8", default = "int4" },
    rounded = true,
  },

  params = {
    rows    = tune { 64, 128, 256, default = 256 },
    columns = tune { 64, 128, default = 128 },
    stages  = tune { 2, 3, 4, default = 3 },
    raster  = tune { 4, 8, 16, default = 8 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, unroll = p.unroll }
    gemm.tensor_tiles(k.acc:in_():compute_root(), k.acc, p)
    for _, step in ipairs { k.linear, k.activated } do elementwise.vectors(step:compute_root(), o) end
    elementwise.vectors(k.y, o)
  end,
}
