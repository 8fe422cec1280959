-- Mean and length of a sentence's vectors with a block a sentence: a thread adds up its columns of all tokens, and the
-- sums wait in shared memory for their length.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local rows = require "lib.gpu_rows"

return schedule "pooling" {
  target = "cuda",

  generator = {
    strip = tune { 4, 8, 16, 32, default = 16 }, -- tokens in flight
  },

  params = {
    threads = tune { 64, 128, 256, default = 128 },
    vector  = tune { 2, 4, 8, default = 4 }, -- columns a thread handles at once
  },

  apply = function(k, p)
    local o = { at = { k.y, "sentence" }, threads = p.threads, vector = p.vector, unroll = 1 }
    rows.group_blocks(k.y, { loop = "col", blocks = { "sentence" }, threads = p.threads, vector = p.vector, unroll = 1 })
    reduce.in_block(k.sum_sq, "col", o)
    grid.each_thread(k.inv_length, o)

    rows.in_shared(k.total, "col", "sentence", o)
    local sum = k.total:update(0)
    sum:split("col", p.threads * p.vector, "guard", "chunk", "in_chunk")
    sum:split("in_chunk", p.vector, "guard", "thread", "lane")
    sum:reorder("lane", "token_x", "token_y", "chunk", "thread"):gpu_threads "thread"
    sum:vectorize("lane"):unroll("token_x"):never_partition_all()
  end,
}
