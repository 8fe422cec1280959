-- As decode_attention.lua, but a task does all splits of a head, one after the other, and weighs
-- them at once: no partial result leaves L2. For batches with more heads than threads.

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
    local task = k.mean:compute_root():reorder("d", "r", "rb", "hk", "n"):fuse("hk", "n", "task"):parallel()
    k.split:compute_at(task):reorder("d", "r", "rb", "sp", "hk", "n")
    decode.one_split(k, p, target, { k.split, "sp" })
    decode.all_splits(k, target, task)
  end,
}
