local gemm = require "lib.gpu_gemm"

return schedule "gathered_gates" {
  target = "cuda",
  generator = { block = tune { 16, 64, 128, default = 64 } },
  params = {
    columns = tune { 32, 64, 128, default = 64 },
    stages  = tune { 2, 4, default = 4 },
  },
  apply = function(k, p)
    k.count:compute_root():split("tile", 32, "guard", "block", "thread")
    k.count:gpu_blocks("block"):gpu_threads("thread")
    k.y:dim(1):set_bounds(0, p.block)
    k.y:split("col", p.columns, "guard", "tile_col", "col_in_tile")
    k.y:reorder("col_in_tile", "row", "tile_col", "tile"):gpu_blocks({ "tile_col", "tile" }):never_partition_all()
    for _, sum in ipairs { k.gate, k.up } do
      local tile = { rows = p.block, columns = p.columns, stages = p.stages, raster = 8 }
      gemm.tensor_sums(sum, { k.y, "tile_col" }, tile, { others = { "tile" } })
    end
  end,
}
