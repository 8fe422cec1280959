-- The router for logits that are there: a thread searches the experts of a token and weighs those that it finds.

local router = require "lib.gpu_router"

return schedule "moe_router" {
  target = "cuda",

  generator = {
    weights = "given",
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  params = {
    threads = tune { 32, 64, 128, default = 32 },
  },

  apply = function(k, p)
    router.choose(k, p)
  end,
}
