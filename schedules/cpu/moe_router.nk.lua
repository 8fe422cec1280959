-- The router for few tokens, weights transposed as torch.nn.Linear stores them: the logits are dot products
-- in the SIMD lanes, many tasks even for one token. Then a token at a time is searched and weighed.

local gemm = require "lib.gemm"
local router = require "lib.router"

return schedule "moe_router" {
  target = "cpu",

  generator = {
    weights = "nk",
    top_k = tune { 1, 2, 4, 6, 8, default = 2 }, -- what is wanted
  },

  params = {
    columns = tune { 2, 4, 8, default = 4 },  -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },  -- of a tile, with 32 registers; otherwise at most 2
    task    = tune { 1, 4, 16, default = 4 }, -- tiles of columns a task
  },

  where = function(p, target)
    return p.columns * p.rows <= 16
  end,

  apply = function(k, p, target)
    k.order:compute_root()
    gemm.dot_products(k.order, { k.acc }, {
      col = "e",
      m = k.scores:dim(1):extent(),
      lanes = target:lanes "f32",
      columns = p.columns,
      rows = target.vector_registers >= 32 and p.rows or math.min(p.rows, 2),
      task = p.task,
    })
    k.chosen:compute_root():parallel("row", 8, "guard")
    router.choose(k, "row", target:lanes "f32")
  end,
}
