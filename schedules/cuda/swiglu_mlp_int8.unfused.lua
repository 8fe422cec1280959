-- The feed-forward block in 8 bits without fusion: rows of x in 8 bits, the three products on the tensor cores, the activation,
-- h, its rows in 8 bits and the result with its residual, each a kernel of its own.

local elementwise = require "lib.gpu_elementwise"
local gemm = require "lib.gpu_gemm"
local rows = require "lib.gpu_rows"

return schedule "swiglu_mlp_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, 256, default = 256 },
    stages  = tune { 2, 3, 4, default = 3 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, vector = 8, unroll = p.unroll }
    rows.quantise(k.x_q, k.x_scale, { k.sum_sq, k.x_peak }, { k.x_inv }, o)
    for _, acc in ipairs { k.gate, k.up, k.acc } do gemm.tensor_tiles(acc:in_():compute_root(), acc, p) end
    elementwise.vectors(k.activated:compute_root(), o)
    elementwise.vectors(k.h:compute_root(), o)
    rows.quantise(k.h_q, k.h_scale, { k.h_peak }, { k.h_inv }, o)
    elementwise.vectors(k.y, o)
  end,
}
