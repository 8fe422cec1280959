-- The router of few tokens on the tensor cores, where all that takes time is to read the weights: blocks of few experts, so that
-- more multiprocessors read a part of them, whose warps share the depth; then a thread or a warp searches the experts of
-- a token and weighs those that it finds.

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
    rows    = tune { 16, 32, default = 16 },
    columns = tune { 16, 32, default = 16 },           -- experts
    stages  = tune { 3, 4, 5, 6, 8, 12, default = 12 }, -- fetched ahead; a stage takes 256 (rows + columns) bytes
    group   = tune { 4, 8, 16, default = 16 },         -- rows of tiles taken together
    threads = tune { 32, 64, 128, default = 32 }, -- of a block that searches lists
  },

  where = function(p)
    return gpu.tiles_fit(p, { products = 1 })
  end,

  apply = function(k, p)
    gpu.tensor_tiles(k.order:compute_root(), k.acc, p, { col = "e" })
    router.choose(k, p, p.search)
  end,
}
