-- Attention of a few queries over a cache of keys, which is bound by reading the cache. A block takes a split of the keys of a key head,
-- for the queries of all heads that share it, so that each key and value comes from memory once. A second kernel weighs the splits.
--
-- Heads of sizes that are common, in a half type, are done by the tensor cores, in one pass over the keys; other calls by threads that
-- stand side by side along the head, whose logits and weights of a split stay in shared memory.

local decode = require "lib.gpu_decode"

return schedule "decode_attention" {
  target = "cuda",

  generator = decode.generator,
  params = decode.params,
  where = decode.where,
  versions = decode.versions,

  apply = function(k, p)
    decode.fix_head_dim(k, p.head_dim)
    if p.rescaled == 1 then decode.by_tensor_cores(k, p, p.rows, 16) else decode.by_threads(k, p) end
  end,
}
