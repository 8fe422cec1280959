local gemm = require "lib.gpu_gemm"

return schedule "half_of_rows" {
  target = "cuda",
  params = {
    rows    = tune { 16, 64, 128, default = 64 },
    columns = tune { 64, 128, default = 64 },
    stages  = tune { 2, 4, default = 4 },
  },
  apply = function(k, p)
    local half = k:has "half" and k.half:compute_root() or k.y
    for _, stage in ipairs(half == k.y and { k.y } or { half, k.y }) do
      stage:split("col", 32, "guard", "block", "thread")
      stage:gpu_blocks({ "block", "row" }):gpu_threads "thread"
    end
    local rows = half:update(0)
    rows:split("col", p.columns, "guard", "tile_col", "col_in_tile")
    rows:split("r", p.rows, "guard", "tile_row", "row_in_tile")
    rows:reorder("col_in_tile", "row_in_tile", "tile_col", "tile_row"):gpu_blocks({ "tile_col", "tile_row" }):never_partition_all()
    gemm.tensor_sums(k.acc, { half, "tile_col" }, { rows = p.rows, columns = p.columns, stages = p.stages, raster = 8 }, {})
  end,
}
