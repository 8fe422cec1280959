-- Attention without fusion: all scores, all probabilities and the product go to memory, as
-- in a chain of library calls. Both products run in registers as in attention.lua, so the
-- difference between the two is what keeping scores in cache gains.

local attention = require "lib.attention"

return schedule "attention" {
  target = "cpu",

  generator = { softmax = "two_pass", key_block = 16, query_block = 16 },

  params = {
    head_dim = tune { 0, 32, default = 0 }, -- a constant, if not 0
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local depth = 16

    attention.fix_head_dim(k, p.head_dim)

    for _, copy in ipairs { k.k_f, k.v_f, k.q_f } do
      copy:compute_root():parallel(copy == k.q_f and "h" or "hk"):vectorize("d", lanes, "guard")
    end
    k.q_f:reorder_storage("i", "d", "ib", "h", "n"):bound("i", 0, 16)

    -- Scores: a tile of lanes queries x 16 keys in registers, stored for every head.
    local scores = k.scores:in_():compute_root()
      :reorder_storage("i", "j", "kb", "ib", "h", "n"):bound("i", 0, 16)
    scores:reorder("i", "j", "kb", "ib", "h", "n"):parallel "h"
    scores:vectorize("i", lanes):unroll "j"
    k.scores:compute_at(scores, "kb"):store_in "stack":reorder_storage("i", "j", "kb", "ib", "h", "n")
      :reorder("i", "j"):vectorize("i", lanes):unroll "j"
    k.scores:update(0):reorder("i", "j", "depth"):vectorize("i", lanes):unroll("i"):unroll "j"

    for _, stage in ipairs { k.logits, k.p } do
      stage:compute_root():reorder_storage("i", "j", "kb", "ib", "h", "n"):bound("i", 0, 16)
        :reorder("i", "j", "kb", "ib", "h", "n"):vectorize("i", lanes):parallel "h":never_partition_all()
    end
    for _, reduction in ipairs { k.row_max, k.row_sum } do
      reduction:compute_root():bound("i", 0, 16):vectorize("i", lanes)
      reduction:update(0):reorder("i", "key_x", "key_y", "ib", "h", "n"):vectorize("i", lanes):parallel "h"
    end
    k.inv_sum:compute_root():bound("i", 0, 16):vectorize("i", lanes)
    if k:has "lse" then
      k.lse_of_row:compute_root():bound("i", 0, 16):vectorize("i", lanes)
      k.lse:parallel "h"
    end

    -- p v: a tile of lanes queries x 16 columns in registers.
    local product = k.acc:in_():compute_root():reorder_storage("i", "d", "ib", "h", "n"):bound("i", 0, 16)
    local tile, col = product:split("d", depth, "guard", "tile", "col")
    product:reorder("i", col, tile, "ib", "h", "n"):parallel "h":vectorize("i", lanes)
    k.acc:compute_at(product, "tile"):store_in "stack":reorder_storage("i", "d", "ib", "h", "n")
      :bound_extent("d", depth):reorder("i", "d"):vectorize("i", lanes):unroll "d"
    k.acc:update(0):reorder("i", "d", "key_x", "key_y"):vectorize("i", lanes):unroll("i"):unroll "d"

    k.out:reorder("d", "query", "h", "n"):parallel "h":vectorize("d", lanes, "guard")
  end,
}
