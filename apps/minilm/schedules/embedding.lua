-- Embeddings of tokens with a block a token, as LayerNorm has a block a row.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local rows = require "lib.gpu_rows"

return schedule "embedding" {
  target = "cuda",

  params = {
    threads = tune { 32, 64, 128, 256, default = 32 },
    vector  = tune { 2, 4, 8, default = 4 },    -- columns a thread handles at once
    unroll  = tune { 1, 2, 3, 4, default = 3 }, -- of which so many are in flight
  },

  apply = function(k, p)
    local o = { at = { k.y, "token" }, threads = p.threads, vector = p.vector, unroll = p.unroll }
    rows.group_blocks(k.y, {
      loop = "col", blocks = { "token", "sentence" }, threads = o.threads, vector = o.vector, unroll = o.unroll,
    })
    for _, sum in ipairs { k.sum, k.sum_sq } do reduce.in_block(sum, "col", o) end
    for _, value in ipairs { k.mean, k.inv_std } do grid.each_thread(value, o) end
  end,
}
