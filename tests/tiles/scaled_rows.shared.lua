local gemm = require "lib.gpu_gemm"

return schedule "scaled_rows" {
  target = "cuda",
  params = {
    rows    = tune { 16, 32, 64, 128, 192, default = 128 },
    columns = tune { 32, 64, 128, 192, 256, default = 128 },
    stages  = tune { 1, 2, 3, 4, 5, 6, 8, default = 3 },
    raster  = tune { 8, default = 8 },
  },
  apply = function(k, p)
    gemm.tensor_tiles(k.y, k.acc, p)
    k.aw:compute_at(k.acc, "step"):store_in "gpu_shared":bound_extent("row", p.rows):bound_extent("kk", 64):never_partition_all()
    k.aw:split("kk", 8, "guard", "thread", "lane")
    k.aw:split("row", 16, "guard", "step_row", "thread_row")
    k.aw:reorder("lane", "step_row", "thread", "thread_row"):gpu_threads { "thread", "thread_row" }
  end,
}
