-- Queries, keys and values on their way from their product to attention, a block a head of a token. The rms of heads, where these
-- are normed, is computed in a kernel before, and the largest element of each where they are rounded to 8 bits.

local reduce = require "lib.gpu_reduce"

return schedule "turn" {
  target = "cuda",

  params = { threads = tune { 32, 64, 128, default = 64 } },

  apply = function(k, p)
    if k:has "inverse" then
      k.inverse:compute_root():gpu_blocks { "head", "token" }
      reduce.in_block(k.squares, "depth", { at = { k.inverse, "head" }, threads = 32, vector = 2, unroll = 1 })
    end
    if k:has "most" then
      k.most:compute_root():gpu_blocks { "head", "token" }
      reduce.in_block(k.largest, "of_head", { at = { k.most, "head" }, threads = 32, vector = 1, unroll = 1 })
    end
    local function by_heads(stage, blocks)
      stage:split("i", p.threads, "guard", "chunk", "thread")
      stage:reorder("thread", "chunk", table.unpack(blocks)):gpu_blocks(blocks):gpu_threads("thread"):never_partition_all()
    end
    -- In the pure stages of caches nothing is computed, but Halide takes them for something that the host does.
    if k:has "together" then
      k.together:gpu_blocks("place"):gpu_threads "i"
      by_heads(k.together:update(0), { "r_x", "r_y" })
    else
      by_heads(k.q, { "head", "token" })
      k.kv:gpu_blocks { "head", "part" }:gpu_threads "i"
      by_heads(k.kv:update(0), { "head", "r_x", "r_y" })
      if k:has "kv_scale" then
        k.kv_scale:gpu_blocks { "head", "part" }:gpu_threads "place"
        local scale = k.kv_scale:update(0)
        scale:split("head", 32, "guard", "chunk", "thread")
        scale:reorder("thread", "chunk", "r_x", "r_y"):gpu_blocks { "r_x", "r_y" }:gpu_threads("thread"):never_partition_all()
      end
    end
  end,
}
