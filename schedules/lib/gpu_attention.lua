-- Attention on the tensor cores.

local host = require "lib.attention"

local attention = {}

-- Has a block keep a strip of queries and go over the keys block by block, with both products of attention on the tensor
-- cores.
--
--   for n, h: for query: out = f(sum over keys of weights(scores(q, k)) * v)
--     ->
--   blocks n, h, strip
--     acc, with the maximum and the sum so far = 0, in registers
--     for block of keys: fetch k and v                           -- a warp fetches `stages` blocks ahead
--       scores = q k
--       block_max, p, block_sum, weights of the block, in registers
--       acc = acc * g + weights v
--     out = acc * inv_sum
--
-- k                        the Funcs of the generator attention, with softmax = "rescaled"
-- query_block, key_block   queries of a strip, keys of a block         head_dim   a constant
-- raster                   heads that blocks take together
-- ping_pong                one half of a block multiplies while the other computes
function attention.tensor_tiles(k, o)
  if k:has "k_pages" then
    error "page: blocks of keys are fetched as boxes of one tensor, and pages are none; attention.unfused.lua has them"
  end
  if k.k:type() ~= k.q:type() then
    error "cache_type: tensor cores fetch keys and values as they multiply them, in the type of the queries; attention.unfused.lua converts"
  end
  host.fix_head_dim(k, o.head_dim)
  k.out:split("query", o.query_block, "guard", "strip", "row")
  k.out:reorder("d", "row", "strip", "h", "n"):gpu_blocks { "strip", "h", "n" }:never_partition_all()
  k.inv_sum:compute_at(k.out, "strip"):store_in "register"
  if k:has "lse" then error "store_lse=true is for attention.unfused.lua on a GPU: this kernel stores its results alone" end
  k.acc:compute_at(k.out, "strip"):store_in "register":bound_extent("d", o.head_dim):bound_extent("i", o.query_block)
  k.acc:update(0):reorder("d", "i", "block"):never_partition_all()
  for _, func in ipairs { k.scores, k.raw_max, k.block_max, k.p, k.block_sum, k.weights, k.pv } do
    func:compute_at(k.acc, "block"):store_in "register":bound_extent("i", o.query_block):never_partition_all()
    for _, one in ipairs { "kb", "ib", "h", "n" } do func:bound_extent(one, 1) end
  end
  for _, func in ipairs { k.scores, k.p, k.weights } do func:bound_extent("j", o.key_block) end
  if k:has "capped" then -- once for the maximum and the weight
    k.capped:compute_at(k.acc, "block"):store_in "register":bound_extent("i", o.query_block):bound_extent("j", o.key_block)
    for _, one in ipairs { "kb", "ib", "h", "n" } do k.capped:bound_extent(one, 1) end
    k.capped:never_partition_all()
  end
  k.pv:bound_extent("d", o.head_dim)
  k.scores:update(0):reorder("depth", "j", "i"):never_partition_all():mma():pipeline(o.stages, o.raster, o.ping_pong)
  for _, func in ipairs { k.raw_max, k.block_sum } do func:update(0):reorder("key", "i"):never_partition_all() end
  k.pv:update(0):reorder("key", "d", "i"):never_partition_all():mma()
end

return attention
