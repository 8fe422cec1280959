local gemm = require "lib.gpu_gemm"

return schedule "weights_8" {
  target = "cuda",
  params = {
    rows    = tune { 16, 32, 64, 128, 192, 256, default = 128 },
    columns = tune { 32, 64, 128, 192, 256, default = 128 },
    stages  = tune { 1, 2, 3, 4, 5, 6, 8, 12, 16, default = 3 },
    warps   = tune { 1, 2, 3, 4, 8, 16, default = 1 },
    cluster = tune { 1, 2, 4, 8, default = 1 },
    resident = tune { 1, 2, 3, default = 1 },
    raster  = tune { 8, default = 8 },
  },
  apply = function(k, p)
    gemm.tensor_tiles(k.y, k.acc, p, { warps = p.warps, cluster = p.cluster })
    k.y:resident(p.resident)
  end,
}
