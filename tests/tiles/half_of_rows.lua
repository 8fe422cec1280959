local gemm = require "lib.gpu_gemm"

return schedule "half_of_rows" {
  target = "cuda",
  params = {
    rows    = tune { 16, 64, 128, default = 64 },
    columns = tune { 64, 128, default = 64 },
    stages  = tune { 2, 4, default = 4 },
  },
  apply = function(k, p)
    k.y:split("col", 32, "guard", "block", "thread")
    k.y:gpu_blocks({ "block", "row" }):gpu_threads "thread"
    local rows = k.y:update(0)
    rows:split("col", p.columns, "guard", "tile_col", "col_in_tile")
    rows:split("r", p.rows, "guard", "tile_row", "row_in_tile")
    rows:reorder("col_in_tile", "row_in_tile", "tile_col", "tile_row"):gpu_blocks({ "tile_col", "tile_row" }):never_partition_all()
    gemm.tensor_sums(k.acc, { k.y, "tile_col" }, { rows = p.rows, columns = p.columns, stages = p.stages, raster = 8 }, {})
  end,
}
