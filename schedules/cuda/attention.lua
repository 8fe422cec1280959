-- Attention in one pass over the keys on the tensor cores: scores and weights stay in registers (FlashAttention-2, Dao 2023;
-- for sm_90a FlashAttention-3, Shah et al. 2024). A block has a strip of queries; the blocks of keys that none of them sees
-- are left out.

local attention = require "lib.gpu_attention"

return schedule "attention" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    softmax = "rescaled",
    query_block = tune { 64, 128, 192, default = 128 },
    key_block = tune { 64, 128, default = 128 }, -- for heads of 128, sm_80 is better off with 64
  },

  params = {
    head_dim = tune { 32, 64, 80, 96, 128, 192, 256, default = 128 },
    stages   = tune { 2, 3, 4, default = 2 }, -- blocks of keys and of values fetched ahead, on sm_90a
    raster   = tune { 1, 2, 4, 8, 16, 32, default = 8 }, -- heads taken together, so that their keys and values are in L2
    -- Half of a block multiplies while the other half computes: faster for heads of up to 96, most for 64 with 192 queries; slower for
    -- heads of 128. "auto": by the head.
    ping_pong = tune { "auto", false, true, default = "auto" },
  },

  where = function(p, target)
    -- Registers: scores and results of a thread. Shared memory: queries, the stages, and the results on their way out.
    local dim = math.max(p.head_dim, 64)
    return (p.key_block + p.head_dim) // 2 <= (p.query_block == 192 and 128 or 160) and
      2 * dim * (2 * p.query_block + 2 * p.stages * p.key_block) < target.shared_bytes - 2048
  end,

  apply = function(k, p)
    if p.ping_pong == "auto" then p.ping_pong = p.head_dim <= 96 and p.query_block > 64 end
    attention.tensor_tiles(k, p)
  end,
}
