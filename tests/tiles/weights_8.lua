local gemm = require "lib.gpu_gemm"

return schedule "weights_8" {
  target = "cuda",
  params = {
    rows    = tune { 16, 32, 64, 128, 192, 256, default = 128 },
    columns = tune { 32, 64, 128, 192, 256, default = 128 },
    stages  = tune { 1, 2, 3, 4, 5, 6, 8, default = 3 },
    raster  = tune { 8, default = 8 },
  },
  apply = function(k, p) gemm.tensor_tiles(k.y, k.acc, p) end,
}
