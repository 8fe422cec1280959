-- Products of experts on the tensor cores: a block has the sums of a slot's rows by a tile of columns, and fetches the rows by their index.
-- Blocks of slots without rows end at once.

local gemm = require "lib.gpu_gemm"
local experts = require "lib.gpu_experts"

return schedule "grouped_gemm" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
    tile = -1,                                     -- `rows`
  },

  params = {
    rows    = tune { 0, 64, 128, default = 0 },    -- of a slot; 0: the sizes of a call decide
    columns = tune { 0, 32, 64, 128, 192, 256, default = 0 },
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 },
    raster  = tune { 1, 4, 8, 16, default = 8 },   -- slots that are taken together
    threads = tune { 64, 128, 256, default = 128 }, -- of a block that clears or sums rows
  },

  where = function(p, target)
    if p.rows == 0 or p.columns == 0 then return gemm.sizes_decide(p, 3) end
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  versions = function(k, p, target)
    return p.rows > 0 and { {} } or experts.versions(k, target)
  end,

  apply = experts.tensor_tiles,
}
