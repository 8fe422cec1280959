-- Attention on the host in one pass over the keys (flash attention): a block of scores, its running
-- maximum and its probabilities live in L1 and nothing else of the scores exists. The
-- accumulator is rescaled once a block. As fast as attention.lua at 1024 keys, and twice as fast at
-- 32768, where a strip of scores no longer fits L2 (Zen 4).

local attention = require "lib.attention"

return schedule "attention" {
  target = "cpu",

  generator = {
    softmax = "online",
    key_block = tune { 16, 32, 64, default = 64 },
  },

  params = {
    -- Columns of the register tile of p v. They are head_dim + 1, with the sum of the weights: 11
    -- leaves few over for 32, 64, 96 and 128.
    depth    = tune { 8, 11, 13, default = 11 },
    head_dim = tune { 0, 32, 64, 96, 128, default = 0 }, -- a constant, if not 0
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    attention.fix_head_dim(k, p.head_dim)

    local strip, row = k.out:split("i", lanes, "guard", "strip", "row")
    k.out:reorder("d", row, strip, "h", "n")
    local head = k.out:fuse("h", "n", "head"):parallel()
    k.out:vectorize("d", lanes, "guard")

    -- Once a head: keys and values in f32, padded to whole blocks.
    for _, copy in ipairs { k.k_f, k.v_1 } do
      copy:compute_at(head):vectorize("d", lanes, "guard")
    end

    -- Once a strip: queries turned into the lanes, and the results of the loop over the blocks.
    k.q_f:compute_at(strip):reorder_storage("i", "d", "h", "n"):bound_extent("i", lanes)
      :reorder("i", "d"):vectorize("i", lanes)
    k.inv_sum:compute_at(strip):bound_extent("i", lanes):vectorize("i", lanes)
    k.acc:compute_at(strip):reorder_storage("i", "d", "h", "n"):bound_extent("i", lanes)
      :reorder("i", "d"):vectorize("i", lanes)
    local tile, col = k.acc:update(0):split("d", p.depth, "guard", "tile", "col")
    k.acc:update(0):reorder("i", col, tile, "block"):vectorize("i", lanes)

    -- Once a block. The maxima of the blocks before stay, one vector each.
    for _, stage in ipairs { k.logits, k.block_max, k.last_max, k.row_max, k.p, k.alpha } do
      stage:compute_at(k.acc, "block"):bound_extent("i", lanes):vectorize("i", lanes)
    end
    k.block_max:store_at(strip)
    k.block_max:update(0):reorder("i", "key"):vectorize("i", lanes)
    k.last_max:update(0):reorder("i", "block"):vectorize("i", lanes)
    for _, stage in ipairs { k.logits, k.p } do
      stage:reorder_storage("i", "j", "kb", "h", "n"):reorder("i", "j")
    end

    -- Both products in registers: scores for some keys at a time, p v for some columns.
    local keys, key = k.logits:split("j", 16, "auto", "keys", "key")
    k.logits:reorder("i", key, keys, "kb"):unroll(key)
    k.scores:compute_at(k.logits, "keys"):store_in "stack":reorder_storage("i", "j", "kb", "h", "n")
      :bound_extent("i", lanes):reorder("i", "j"):vectorize("i", lanes):unroll "j"
    k.scores:update(0):reorder("i", "j", "depth"):vectorize("i", lanes):unroll "j"
    k.pv:compute_at(k.acc, "tile"):store_in "stack":reorder_storage("i", "d", "kb", "h", "n")
      :bound_extent("i", lanes):bound_extent("d", p.depth):reorder("i", "d"):vectorize("i", lanes):unroll "d"
    k.pv:update(0):reorder("i", "d", "key"):vectorize("i", lanes):unroll "d"
  end,
}
