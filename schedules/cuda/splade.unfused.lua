-- The SPLADE head without fusion: the logits of all positions go to memory, then a thread takes the largest of each
-- word.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local tiles = require "lib.gpu_tiles"

return schedule "splade" {
  target = "cuda",

  generator = { weights = "nk", block = 128 },

  params = {
    columns = tune { 64, 128, default = 128 },
    depth   = tune { 16, 32, default = 16 },
    threads = tune { 128, 256, default = 256 },
  },

  apply = function(k, p)
    tiles.product(k.acc:in_():compute_root(), k.acc, {
      a = { func = k.x_f, loop = "i", k = "k", together = "k" },
      b = { func = k.w_f, loop = "col", k = "k", together = "k" },
      rows = p.block, columns = p.columns, depth = p.depth, row = "i", blocks = { "s", "n" },
      others = { "s", "n" },
    })
    elementwise.elements(k.y, { rows = { "col", "n" }, threads = p.threads })
    grid.each_thread(k.top:bound_extent("col", 1):bound_extent("n", 1), { at = { k.y, "thread" } })
  end,
}
