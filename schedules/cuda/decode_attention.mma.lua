-- Attention of one query a head over a cache of keys, on the tensor cores: the heads that share keys are rows of a tile of 16, and
-- warps, of which some share a split of the keys, go over it in one pass. A second kernel weighs the splits.

local decode = require "lib.gpu_decode"

return schedule "decode_attention" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    softmax = "rescaled",
    split_keys = tune { 256, 512, 1024, 2048, 4096, 8192, default = 2048 },
    key_block = tune { 16, 32, 64, default = 16 },
    row_block = tune { 4, 8, 16, default = 4 }, -- rows of a group; the tile has 16
  },

  params = {
    head_dim = tune { 64, 128, 256, default = 128 },
    ahead = tune { 1, 2, 3, default = 1 }, -- blocks of keys, and of values, that are fetched ahead
    warps = tune { 1, 2, 4, 8, default = 4 }, -- that share a split
  },

  -- A block has so much shared memory on sm_80.
  where = function(p)
    return 4 * p.head_dim * (8 + p.warps * (p.ahead + 1) * p.key_block) <= 163 * 1024
  end,

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
    k.scores:update(0):reorder("depth", "j", "r"):never_partition_all():mma():pipeline(p.ahead + 1):split_k_warps(p.warps)
    for _, func in ipairs { k.raw_max, k.block_sum } do func:update(0):reorder("key", "r"):never_partition_all() end
    k.pv:update(0):reorder("key", "d", "r"):never_partition_all():mma()
    decode.splits_of_queries(k)
  end,
}
