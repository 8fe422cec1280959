-- Attention of bf16 by AMX, where the head dimension is a constant; otherwise, and where there are no tiles, by vectors as
-- in attention.lua. Scores are products of a block of keys and a strip of queries, with queries in the columns, so that
-- all between them stays as it is; values are turned, once a task, so that keys lie along the sum.

local attention = require "lib.attention"
local mma = require "lib.mma"

return schedule "attention" {
  target = "cpu",

  generator = {
    type = "bfloat16",
    softmax = "two_pass",
    weight_parts = true, -- weights that are not rounded, in two numbers of bf16
    key_block = tune { 16, 32, default = 32 },   -- keys of a block
    query_block = tune { 16, 32, default = 32 }, -- queries a strip
  },

  params = {
    strips   = tune { 8, 32, 128, default = 32 },         -- a task
    depth    = tune { 8, 16, default = 8 },               -- of the register tile of p v, without tiles
    head_dim = tune { 0, 32, 64, 96, 128, default = 0 },  -- a constant, if not 0
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    local tiles = p.head_dim > 0 and (mma.has_tiles(target) or p.tiles == "always")
    attention.two_pass(k, p, target, tiles)
  end,
}
