-- The three projections in 8 bits without fusion: the sums of the tensor cores go to memory, then a kernel for each scales
-- them, adds the bias and stores the result in its type.

local elementwise = require "lib.gpu_elementwise"
local gemm = require "lib.gpu_gemm"

return schedule "qkv_projection_int8" {
  target = "cuda",

  generator = { weights = "nk" },

  params = {
    rows    = tune { 64, 128, 192, default = 128 },
    columns = tune { 64, 128, 192, 256, default = 128 },
    stages  = tune { 2, 3, 4, default = 4 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 128, 256, 512, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  where = function(p, target)
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  apply = function(k, p)
    for _, projection in ipairs { { k.q, k.acc_q }, { k.k, k.acc_k }, { k.v, k.acc_v } } do
      local out, acc = table.unpack(projection)
      gemm.tensor_tiles(acc:in_():compute_root(), acc, p)
      elementwise.vectors(out, { rows = { "row" }, threads = p.threads, unroll = p.unroll })
    end
  end,
}
