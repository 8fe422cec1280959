-- The router for logits that are there: a token at a time, from the logits to the weights.

local router = require "lib.router"

return schedule "moe_router" {
  target = "cpu",

  generator = {
    weights = "given",
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  params = {
    task = tune { 8, 32, 128, default = 32 }, -- tokens
  },

  apply = function(k, p, target)
    k.chosen:compute_root():parallel("row", p.task, "guard")
    k.order:compute_at(k.chosen, "row"):vectorize("e", target:lanes "f32", "guard")
    router.choose(k, "row", target:lanes "f32")
  end,
}
