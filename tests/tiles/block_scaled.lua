local gemm = require "lib.gpu_gemm"

return schedule "block_scaled" {
  target = "cuda",
  params = {
    rows    = tune { 16, 32, 64, 128, 192, default = 128 },
    columns = tune { 32, 64, 128, 192, 256, default = 128 },
    stages  = tune { 1, 2, 3, 4, 5, 6, 8, default = 3 },
    raster  = tune { 8, default = 8 },
  },
  apply = function(k, p)
    gemm.blocks_of_tiles(k.y, p, {})
    k.acc:compute_at(k.y, "tile_col"):store_in "register":bound_extent("col", p.columns):bound_extent("row", p.rows):never_partition_all()
    k.acc:update(0):reorder("col", "row", "kb"):never_partition_all()
    k.part:compute_at(k.acc, "kb"):store_in "register":bound_extent("col", p.columns):bound_extent("row", p.rows):bound_extent("step", 1)
    k.part:never_partition_all()
    k.part:update(0):reorder("k", "col", "row", "step"):never_partition_all():mma():pipeline(p.stages, p.raster)
  end,
}
