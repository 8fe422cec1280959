-- Attention on the host in one pass over the keys (flash attention): a block of scores, its running
-- maximum and its probabilities live in L1 and nothing else of the scores exists. The
-- accumulator is rescaled once a block. With 1024 keys it is as fast as attention.lua, and faster where a strip of
-- scores no longer fits L2, as with 32768.

local attention = require "lib.attention"

return schedule "attention" {
  target = "cpu",

  generator = {
    softmax = "online",
    key_block = tune { 16, 32, 64, 128, default = 64 },
    query_block = tune { 16, 32, default = 16 }, -- queries a strip
  },

  params = {
    strips   = tune { 8, 32, 128, default = 32 }, -- a task
    keys     = tune { 8, 16, default = 16 },      -- of the register tile of scores
    -- Columns of the register tile of p v. They are head_dim + 1, with the sum of the weights: 11
    -- leaves few over for 32, 64, 96 and 128.
    depth    = tune { 8, 11, 13, default = 11 },
    head_dim = tune { 0, 32, 64, 96, 128, default = 0 }, -- a constant, if not 0
  },

  where = function(p) -- more sums than registers
    return p.query_block * p.keys <= 512 and p.query_block * p.depth <= 512
  end,

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local wide = target.vector_registers >= 32
    local keys_of_tile, depth = wide and p.keys or 4, wide and p.depth or 4

    attention.fix_head_dim(k, p.head_dim)

    local strip, row = k.out:split("query", p.query_block, "guard", "strip", "row")
    local group, step = k.out:split(strip, p.strips, "guard", "group", "step")
    k.out:reorder("d", row, step, group, "h", "n"):never_partition(step)
    local task = k.out:fuse(group, "h", "task"):fuse("n", "task_of_all"):parallel()
    k.out:vectorize("d", lanes, "guard")

    -- Once a task: keys and values in f32, padded to whole blocks.
    for _, copy in ipairs { k.k_f, k.v_1 } do
      copy:compute_at(task):vectorize("d", lanes, "guard")
    end

    -- Once a strip: queries turned into the lanes, and the results of the loop over the blocks.
    k.q_f:compute_at(step):reorder_storage("i", "d", "ib", "h", "n")
      :reorder("i", "d"):vectorize("i", lanes)
    k.inv_sum:compute_at(step):vectorize("i", lanes)
    k.acc:compute_at(step):reorder_storage("i", "d", "ib", "h", "n"):bound("i", 0, p.query_block)
      :reorder("i", "d"):vectorize("i", lanes)
    local tile, col = k.acc:update(0):split("d", depth, "guard", "tile", "col")
    k.acc:update(0):reorder("i", col, tile, "block"):vectorize("i", lanes):never_partition "block"

    -- Once a block. The maxima of the blocks before stay, one vector each.
    for _, stage in ipairs { k.logits, k.block_max, k.last_max, k.row_max, k.p, k.alpha } do
      stage:compute_at(k.acc, "block"):bound("i", 0, p.query_block):vectorize("i", lanes)
    end
    k.block_max:store_at(step)
    k.block_max:update(0):reorder("i", "key"):vectorize("i", lanes)
    k.last_max:update(0):reorder("i", "block"):vectorize("i", lanes):never_partition "block"
    for _, stage in ipairs { k.logits, k.p } do
      stage:reorder_storage("i", "j", "kb", "ib", "h", "n"):reorder("i", "j")
    end

    -- Both products in registers: scores for some keys at a time, p v for some columns.
    local keys, key = k.logits:split("j", keys_of_tile, "auto", "keys", "key")
    k.logits:reorder("i", key, keys, "kb"):unroll(key):never_partition_all()
    k.scores:compute_at(k.logits, "keys"):store_in "stack":reorder_storage("i", "j", "kb", "ib", "h", "n")
      :bound_extent("j", keys_of_tile):reorder("i", "j"):vectorize("i", lanes):unroll "i":unroll "j"
    k.scores:update(0):reorder("i", "j", "depth"):vectorize("i", lanes):unroll "i":unroll "j"
    k.pv:compute_at(k.acc, "tile"):store_in "stack":reorder_storage("i", "d", "kb", "ib", "h", "n")
      :bound("i", 0, p.query_block):bound_extent("d", depth)
      :reorder("i", "d"):vectorize("i", lanes):unroll "i":unroll "d"
    k.pv:update(0):reorder("i", "d", "key"):vectorize("i", lanes):unroll "i":unroll "d"
  end,
}
