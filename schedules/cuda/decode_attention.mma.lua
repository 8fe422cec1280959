-- Attention of one query a head over a cache of keys, on the tensor cores: the heads that share keys are rows of a tile of 16, and a
-- warp, which is a block, goes over a split of the keys in one pass. A second kernel weighs the splits.
--
-- For many sequences: one alone has too few splits. H200, 64 x 8192 keys of 128 in bf16, where decode_attention.lua takes 517 to
-- 522 us, key_block / ahead / split_keys: 32/1/2048 502 to 508 us, 32/1/1024 518, 32/2/1024 528,
-- 16/3/1024 523, 16/2/1024 532; keys and values fetched in turns, one at a time: 32/2048 516, 64/2048 528, 32/1024 532.

local decode = require "lib.gpu_decode"
local gpu = require "lib.gpu"

return schedule "decode_attention" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    softmax = "rescaled",
    split_keys = tune { 256, 512, 1024, 2048, 4096, 8192, default = 2048 },
    key_block = tune { 16, 32, 64, default = 32 },
    row_block = tune { 4, 8, 16, default = 4 }, -- rows of a group; the tile has 16
  },

  params = {
    head_dim = tune { 64, 128, 256, default = 128 },
    ahead = tune { 1, 2, 3, default = 1 }, -- blocks of keys, and of values, that are fetched ahead
    warps = tune { 1, 2, 4, 8, default = 1 },  -- that share a split
  },

  apply = function(k, p)
    decode.fix_head_dim(k, p.head_dim)
    for _, buffer in ipairs { k.q, k.out } do buffer:dim(1):set_bounds(0, 1) end
    local split = k.split:compute_root():bound("r", 0, p.row_block)
    split:reorder("d", "r", "rb", "sp", "hk", "n"):fuse("hk", "n", "head")
    split:gpu_blocks { "rb", "sp", "head" }:never_partition_all()
    k.acc:compute_at(k.split, "rb"):store_in "register":bound_extent("d", p.head_dim):bound_extent("r", 16)
    for _, one in ipairs { "sp", "rb", "hk", "n" } do k.acc:bound_extent(one, 1) end
    k.acc:update(0):reorder("d", "r", "block"):never_partition_all()
    for _, func in ipairs { k.scores, k.raw_max, k.block_max, k.p, k.block_sum, k.weights, k.pv } do
      func:compute_at(k.acc, "block"):store_in "register":bound_extent("r", 16):never_partition_all()
      for _, one in ipairs { "kb", "sp", "rb", "hk", "n" } do func:bound_extent(one, 1) end
    end
    for _, func in ipairs { k.scores, k.p, k.weights } do func:bound_extent("j", p.key_block) end
    k.pv:bound_extent("d", p.head_dim)
    k.scores:update(0):reorder("depth", "j", "r"):never_partition_all():mma():pipeline(p.ahead + 1):warps(p.warps)
    for _, func in ipairs { k.raw_max, k.block_sum } do func:update(0):reorder("key", "r"):never_partition_all() end
    k.pv:update(0):reorder("key", "d", "r"):never_partition_all():mma()
    decode.splits_of_queries(k)
  end,
}
