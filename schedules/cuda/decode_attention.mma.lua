-- Attention of a few queries over a cache of keys, on the tensor cores: the heads that share keys are rows of a tile of 16, and
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
    one_query = tune { 0, 1, default = 1 }, -- 0: the queries of a group are copied first, as rows of one matrix
  },

  -- A block has so much shared memory on sm_80.
  where = function(p)
    return 4 * p.head_dim * (8 + p.warps * (p.ahead + 1) * p.key_block) <= 163 * 1024
  end,

  apply = function(k, p)
    decode.fix_head_dim(k, p.head_dim)
    decode.by_tensor_cores(k, p, p.row_block, p.key_block)
  end,
}
