-- Attention of a few queries over a cache of keys, which is bound by reading the cache. Each
-- split of the keys is a task, so that one sequence keeps all threads busy. A vector of a key or a value
-- is read once for the rows of a group: some keys by some rows of dot products in registers,
-- then the sums of their lanes together; p v with columns in the lanes.

local decode = require "lib.decode_attention"

return schedule "decode_attention" {
  target = "cpu",

  generator = {
    split_keys = tune { 128, 256, 512, 1024, default = 512 },
    row_block = tune { 1, 2, 4, default = 4 },
  },

  params = {
    keys     = tune { 2, 4, 8, default = 4 },            -- of the register tile of scores
    depth    = tune { 32, 64, 128, default = 64 },       -- of the register tile of p v
    head_dim = tune { 0, 64, 128, default = 0 },         -- a constant, if not 0
  },

  where = function(p) -- more sums than registers
    return p.row_block * p.keys <= 16 and p.row_block * p.depth <= 256
  end,

  apply = function(k, p, target)
    decode.fix_head_dim(k, p.head_dim)
    k.split:compute_root()
    k.split:reorder("d", "r", "rb", "sp", "hk", "n")
    local task = k.split:fuse("sp", "hk", "task"):fuse("n", "task_of_all"):parallel()
    decode.one_split(k, p, target, task)
    local all = k.mean:compute_root():reorder("d", "r", "rb", "hk", "n"):fuse("hk", "n", "all"):parallel()
    decode.all_splits(k, target, all)
  end,
}
