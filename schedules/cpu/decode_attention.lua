-- Attention of a few queries over a cache of keys, which is bound by reading the cache. Each
-- split of the keys is a task, so that one sequence keeps all threads busy. A vector of a key or a value
-- is read once for the rows of a group: some keys by some rows of dot products in registers,
-- then the sums of their lanes together; p v with columns in the lanes.

local decode = require "lib.decode_attention"

return schedule "decode_attention" {
  target = "cpu",

  generator = decode.generator,
  params = decode.params,
  where = decode.where,

  apply = function(k, p, target)
    decode.fix_head_dim(k, p.head_dim)
    k.split:compute_root()
    k.split:reorder("d", "r", "rb", "sp", "hk", "n")
    local task
    if decode.converts(k) then -- Halide sees that a task has one split where its loop is no part of another one
      k.split:fuse("hk", "n", "head"):parallel()
      k.split:parallel "sp"
      task = { k.split, "sp" }
    else
      task = k.split:fuse("sp", "hk", "task"):fuse("n", "task_of_all"):parallel()
    end
    decode.one_split(k, p, target, task)
    local all = k.mean:compute_root():reorder("d", "r", "rb", "hk", "n"):fuse("hk", "n", "all"):parallel()
    decode.all_splits(k, target, all)
  end,
}
