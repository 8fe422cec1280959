-- Queries, keys and values on their way from their product to attention, a block a head of a token: its rms, if heads are normed, and the
-- angles are computed by the threads that need them.

local reduce = require "lib.gpu_reduce"

return schedule "turn" {
  target = "cuda",

  params = { threads = tune { 32, 64, 128, default = 64 } },

  apply = function(k, p)
    -- Where is what the stage's loop over elements, heads and tokens stands in.
    local function of_heads(func, stage, blocks)
      stage:split("i", p.threads, "guard", "chunk", "thread")
      stage:reorder("thread", "chunk", table.unpack(blocks)):gpu_blocks(blocks):gpu_threads("thread"):never_partition_all()
    end
    of_heads(k.q, k.q, { "head", "token" })
    of_heads(k.kv, k.kv:update(0), { "head", "r_x", "r_y" })
  end,
}
