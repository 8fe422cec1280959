-- Queries, keys and values on their way from their product to attention, a block a head of a token. Angles are computed by the threads
-- that need them; the rms of heads, where these are normed, in a kernel before.

local reduce = require "lib.gpu_reduce"

return schedule "turn" {
  target = "cuda",

  params = { threads = tune { 32, 64, 128, default = 64 } },

  apply = function(k, p)
    if k:has "inverse" then
      k.inverse:compute_root():gpu_blocks { "head", "token" }
      reduce.in_block(k.squares, "depth", { at = { k.inverse, "head" }, threads = 32, vector = 2, unroll = 1 })
    end
    local function by_heads(stage, blocks)
      stage:split("i", p.threads, "guard", "chunk", "thread")
      stage:reorder("thread", "chunk", table.unpack(blocks)):gpu_blocks(blocks):gpu_threads("thread"):never_partition_all()
    end
    by_heads(k.q, { "head", "token" })
    k.kv:gpu_blocks { "head", "part" }:gpu_threads "i" -- nothing is computed there, but Halide takes it for something that the host does
    by_heads(k.kv:update(0), { "head", "r_x", "r_y" })
  end,
}
