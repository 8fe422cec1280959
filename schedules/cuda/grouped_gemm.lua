-- Products of experts on the tensor cores: a block has the sums of a slot's rows by a tile of columns, of which the rows come by their index.
-- Blocks of slots without rows end at once.

local gemm = require "lib.gpu_gemm"
local experts = require "lib.gpu_experts"

return schedule "grouped_gemm" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
    tile = tune { 64, 128, default = 64 },          -- rows of a slot
  },

  params = {
    columns = tune { 64, 128, 192, 256, default = 128 },
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 4 },
    raster  = tune { 1, 4, 8, 16, default = 1 },
    threads = tune { 64, 128, 256, default = 128 }, -- of a block that clears or sums rows
  },

  apply = function(k, p)
    experts.tensor_tiles(k, { rows = p.tile, columns = p.columns, stages = p.stages, raster = p.raster, threads = p.threads })
  end,
}
