-- The router on the tensor cores: a block sums a tile of tokens by experts in registers and stores their keys in the order
-- of the ranking; then a thread or a warp searches the experts of a token and weighs those that it finds.

local gpu = require "lib.gpu"
local router = require "lib.gpu_router"

return schedule "moe_router" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
    search = tune { "list", "maxima", default = "list" }, -- by a thread, or by a warp
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  params = {
    rows    = tune { 0, 64, 128, default = 0 },
    columns = tune { 0, 64, 128, 256, default = 0 }, -- experts; 0: with rows = 0, what a call's sizes are best off with
    stages  = tune { 2, 3, 4, 6, default = 4 },    -- fetched ahead
    group   = tune { 4, 8, 16, default = 16 },     -- rows of tiles taken together
    threads = tune { 32, 64, 128, default = 32 }, -- of a block that searches lists
  },

  where = function(p)
    if p.rows == 0 or p.columns == 0 then return p.rows == p.columns and p.stages <= 4 end
    return gpu.tiles_fit(p, { products = 1 })
  end,

  apply = function(k, p)
    router.tensor_tiles(k, p)
    router.choose(k, p, p.search)
  end,
}
