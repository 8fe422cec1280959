-- The router without fusion: the logits, then the experts that were found, the exponentials, their sums and the
-- weights, each a kernel of its own.

local elementwise = require "lib.gpu_elementwise"
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
    columns = tune { 64, 128, default = 64 },
    depth   = tune { 16, 32, default = 16 },
    threads = tune { 32, 64, 128, default = 32 },
  },

  apply = function(k, p)
    tiles.product(k.acc:in_():compute_root(), k.acc, {
      a = { func = k.x_f, loop = "row", k = "k", together = "k" },
      b = { func = k.w_f, loop = "col", k = "k", together = "k" },
      rows = p.rows, columns = p.columns, depth = p.depth, col = "e",
    })
    router.choices(k, p)
    for _, name in ipairs { "top", "sum", "lost" } do
      local list = k:has(name) and k[name]
      if list then
        local stored = list:in_()
        router.a_thread_each(stored, p)
        list:compute_at(stored, "thread"):store_in "register"
      end
    end
    elementwise.elements(k.weight:compute_root(), { rows = { "i", "row" }, threads = 128 })
    elementwise.elements(k.chosen:compute_root(), { rows = { "i", "row" }, threads = 128 })
    router.store(k)
  end,
}
