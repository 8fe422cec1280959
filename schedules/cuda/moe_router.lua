-- The router on the tensor cores: a block sums a tile of tokens by experts in registers and stores their keys in the order
-- of the ranking; then a thread searches the experts of a token and weighs those that it finds.

local gpu = require "lib.gpu"
local router = require "lib.gpu_router"

return schedule "moe_router" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  params = {
    rows    = tune { 64, 128, default = 64 },
    columns = tune { 64, 128, 256, default = 64 }, -- experts
    stages  = tune { 2, 3, 4, 6, default = 4 },    -- fetched ahead
    group   = tune { 4, 8, 16, default = 16 },     -- rows of tiles taken together
    threads = tune { 32, 64, 128, default = 32 },
  },

  where = function(p)
    return gpu.tiles_fit(p, { products = 1 })
  end,

  apply = function(k, p)
    gpu.tensor_tiles(k.order:compute_root(), k.acc, p, { col = "e" })
    router.choose(k, p)
  end,
}
