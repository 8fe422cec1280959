-- As decode_attention.lua, but a task does all splits of a head, one after the other, and weighs
-- them at once: no partial result leaves L2. For batches with more heads than threads.

local decode = require "lib.decode_attention"

return schedule "decode_attention" {
  target = "cpu",

  generator = decode.generator,
  params = decode.params,
  where = decode.where,

  apply = function(k, p, target)
    if k:has "lse" then error "store_lse=true wants the splits of a head by themselves: decode_attention.lua has it" end
    decode.fix_head_dim(k, p.head_dim)
    local task = k.mean:compute_root():reorder("d", "r", "rb", "hk", "n"):fuse("hk", "n", "task"):parallel()
    k.split:compute_at(task):reorder("d", "r", "rb", "sp", "hk", "n")
    decode.one_split(k, p, target, { k.split, "sp" })
    decode.all_splits(k, target, task)
  end,
}
