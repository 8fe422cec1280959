-- Steps of 256 of the depth, of which shared memory has room for one.

local gemm = require "lib.gpu_gemm"

return schedule "scaled_rows" {
  target = "cuda",
  params = {
    rows    = tune { 64, 128, default = 128 },
    columns = tune { 64, 128, default = 128 },
  },
  apply = function(k, p)
    gemm.blocks_of_tiles(k.y, p, {})
    k.acc:compute_at(k.y, "tile_col"):store_in "register":bound_extent("col", p.columns):bound_extent("row", p.rows):never_partition_all()
    local sum = k.acc:update(0)
    sum:split("k", 256, "guard", "step", "depth")
    sum:reorder("depth", "col", "row", "step"):never_partition_all():mma():pipeline(3, 8, false)
  end,
}
