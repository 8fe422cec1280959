local gemm = require "lib.gpu_gemm"

return schedule "product_plus_operand" {
  target = "cuda",
  params = { rows = tune { 16, 64, default = 64 } }, -- 16: the form for few rows
  apply = function(k, p)
    gemm.tensor_tiles(k.y, k.acc, { rows = p.rows, columns = 64, stages = 4, raster = 8 })
  end,
}
