-- The router on the tensor cores: a block sums a tile of tokens by experts in registers and stores their keys in the order
-- of the ranking; then a warp or a thread searches the experts of a token and weighs those that it finds. Few tokens have
-- tiles of few experts, whose warps share the depth: more multiprocessors read a part of the weights, which is all that takes time.

local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"
local router = require "lib.gpu_router"

return schedule "moe_router" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
    search = "open", -- as lanes has it
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  params = {
    rows    = tune { 0, 16, 32, 64, 128, default = 0 }, -- tokens of a tile; 0: with all of these, what a call's sizes are best off with
    columns = tune { 0, 16, 32, 64, 128, 256, default = 0 }, -- experts
    stages  = tune { 2, 3, 4, 6, 8, 12, default = 4 }, -- fetched ahead
    lanes   = tune { 1, 32, default = 32 },       -- threads that search the experts of a token
    raster  = tune { 4, 8, 16, default = 16 },    -- rows of tiles taken together
    threads = tune { 32, 64, 128, default = 32 }, -- of a block, where a thread searches
    invariant = grid.invariant, -- a token's result is the same bits for any number of tokens
  },

  where = function(p, target)
    if p.rows == 0 or p.columns == 0 then return p.rows == p.columns and p.stages == 4 and p.lanes == 32 end
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  versions = router.versions,

  apply = function(k, p)
    gemm.tensor_tiles(k.order:compute_root(), k.acc, p, { col = "e" })
    router.choose(k, p, p.lanes)
  end,
}
