-- The router, without tensor cores: a block sums a tile of tokens by experts in registers and stores their keys in
-- the order of the ranking; then a thread searches the experts of a token and weighs those that it finds.

local router = require "lib.gpu_router"
local tiles = require "lib.gpu_tiles"

return schedule "moe_router" {
  target = "cuda",

  generator = {
    weights = "nk",
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  params = {
    rows    = tune { 64, 128, default = 64 },
    columns = tune { 64, 128, default = 64 }, -- experts
    depth   = tune { 16, 32, default = 16 },  -- k of a step
    threads = tune { 32, 64, 128, default = 32 },
  },

  apply = function(k, p)
    tiles.product(k.order:compute_root(), k.acc, {
      a = { func = k.x_f, loop = "row", k = "k", together = "k" },
      b = { func = k.w_f, loop = "col", k = "k", together = "k" },
      rows = p.rows, columns = p.columns, depth = p.depth, col = "e",
    })
    router.choose(k, p)
  end,
}
