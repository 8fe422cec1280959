-- Attention on the host: a strip of queries at a time, two passes over its scores in L2.
-- Queries lie in the SIMD lanes, so maxima, exponentials and sums need no shuffles, and
-- keys and values enter as broadcasts. Scores exist for one strip only, and for the blocks of keys
-- that it sees. Two passes beat the online form while a strip of scores (strip * keys * 4 bytes)
-- fits L2. Register tiles of 32 queries by 8 keys read 10 vectors for 16 of sums, of 16 by 16 17. Short
-- sequences want strips of 16. With 16 registers a tile is two vectors by 4, whatever the strip. bf16 is multiplied
-- in pairs where the target can: weights go to memory as pairs of keys of a query.

local attention = require "lib.attention"

return schedule "attention" {
  target = "cpu",

  generator = {
    softmax = "two_pass",
    key_block = tune { 8, 16, 32, default = 8 },    -- keys of a register tile
    query_block = tune { 16, 32, default = 32 }, -- queries a strip
  },

  params = {
    strips   = tune { 8, 16, 32, 128, default = 16 },     -- a task
    depth    = tune { 0, 8, 16, 32, default = 0 },        -- of the register tile of p v; 0: 256 sums
    head_dim = tune { 0, 32, 64, 96, 128, default = 0 },  -- a constant, if not 0
  },

  where = function(p) -- more sums than registers
    return p.query_block * p.key_block <= 512 and p.query_block * p.depth <= 512
  end,

  apply = function(k, p, target)
    attention.two_pass(k, p, target, false)
  end,
}
