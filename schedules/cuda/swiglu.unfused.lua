-- SwiGLU without fusion: both products on the tensor cores, the activation and the result, each a kernel of its
-- own, so that x is read twice and three tensors of f32 go through memory.

local elementwise = require "lib.gpu_elementwise"
local gemm = require "lib.gpu_gemm"
local rows = require "lib.gpu_rows"

return schedule "swiglu" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
  },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, default = 128 },
    stages  = tune { 2, 3, 4, default = 3 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    local o = { rows = { "row" }, threads = p.threads, unroll = p.unroll }
    for _, acc in ipairs { k.gate, k.up } do gemm.tensor_tiles(acc:in_():compute_root(), acc, p) end
    elementwise.vectors(k.activated:compute_root(), o)
    if k:has "h" then
      elementwise.vectors(k.h:compute_root(), o)
      rows.own_scales_in_passes(k, { rows = o.rows, threads = p.threads, vector = 8, unroll = p.unroll })
    end
    elementwise.vectors(k.y, o)
  end,
}
