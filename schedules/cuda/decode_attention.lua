-- Attention of a few queries over a cache of keys, which is bound by reading the cache. A block takes a split of
-- the keys of a key head, for the queries of all heads that share it, so that each key and value comes from memory
-- once, 16 bytes a thread. Logits and weights of the split stay in shared memory. A second kernel weighs the
-- splits. With a known head_dim, blocks of keys and values are fetched ahead, and q and the sums are in registers.

local decode = require "lib.gpu_decode"
local grid = require "lib.gpu_grid"

return schedule "decode_attention" {
  target = "cuda",

  generator = decode.generator,
  params = decode.params,
  where = decode.where,
  versions = decode.versions,

  apply = function(k, p)
    decode.fix_head_dim(k, p.head_dim)
    local vector = grid.vector_of(k.k)
    local split = decode.split_blocks(k, p)
    local block = { split, "rb" }

    local fixed = p.head_dim > 0 -- then a thread has its part of all rows in registers
    k.q_f:compute_at(split, "rb"):store_in(fixed and "register" or "gpu_shared"):bound("r", 0, p.row_block)
    k.q_f:split("d", p.lanes * vector, "guard", "tile", "in_tile")
    k.q_f:split("in_tile", vector, "guard", "thread", "lane")
    k.q_f:reorder("lane", "tile", fixed and "r" or "thread", fixed and "thread" or "r")
    k.q_f:gpu_threads(fixed and { "thread" } or { "thread", "r" }):vectorize "lane":never_partition_all()

    for _, of_keys in ipairs { k.logits, k.p } do
      of_keys:compute_at(split, "rb"):store_in "gpu_shared":reorder_storage("r", "j", "kb", "sp", "rb", "hk", "n")
      of_keys:bound("r", 0, p.row_block):bound_extent("j", p.key_block)
        :bound_storage("kb", p.split // p.key_block)
    end
    decode.dot_products(k, p, vector)
    if fixed and p.ahead > 0 then decode.fetch_block(k.k_block, p, vector, { k.logits, "kb" }, block) end
    decode.over_keys(k.row_max, p, block)
    k.p:split("j", p.lanes, "auto", "thread_key", "thread")
    k.p:reorder("r", "kb", "thread", "thread_key"):gpu_threads { "thread", "thread_key" }:vectorize "r"
    decode.over_keys(k.row_sum, p, block)
    decode.weigh_values(k, p, vector, block, "tile")
    decode.all_splits(k, p)
  end,
}
