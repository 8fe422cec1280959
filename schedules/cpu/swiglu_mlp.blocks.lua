-- The feed-forward block of a few rows with weights of 4 to 8 bits, as they lie in a file: dot products along k in the SIMD lanes. h is
-- made in registers from both products and written once; rows of x, and of h, in 8 bits are rounded once for all columns. From some tens of
-- rows on swiglu_mlp.panels.lua wins.

local blocks = require "lib.blocks"
local norm = require "lib.norm"

return schedule "swiglu_mlp" {
  target = "cpu",

  generator = { weights = "blocks" },

  params = {
    columns = tune { 1, 2, 4, default = 1 }, -- of a tile of dot products
    rows    = tune { 1, 2, 4, default = 4 },    -- of a tile
    task    = tune { 4, 16, 64, default = 16 }, -- tiles of columns a task
    ahead   = tune { 0, 2048, 4096, default = 4096 }, -- bytes that weights for rows in 8 bits are prefetched
  },

  where = function(p) return p.columns * p.rows <= 8 end,

  apply = function(k, p, target)
    local tile = {
      m = k.y:dim(1):extent(),
      columns = p.columns,
      rows = p.rows,
      task = p.task,
      ahead = p.ahead > 0 and p.ahead,
    }
    norm.statistics(k, target:lanes "f32")
    blocks.quantised_rows(k, "x", {})
    blocks.dots(k.h:compute_root(), { blocks.product(k, k.gate, "w_gate", "x"), blocks.product(k, k.up, "w_up", "x") }, tile)
    blocks.quantised_rows(k, "h", {})
    blocks.dots(k.y, { blocks.product(k, k.acc, "w_down", "h") }, tile)
  end,
}
