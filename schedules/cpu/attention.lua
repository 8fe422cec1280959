-- Attention on the host: a strip of queries at a time, two passes over its scores in L2.
-- Queries lie in the SIMD lanes, so maxima, exponentials and sums need no shuffles, and
-- keys and values enter as broadcasts. Scores exist for one strip only. Two passes beat
-- the online form while a strip of scores (strip * keys * 4 bytes) fits L2.

local attention = require "lib.attention"

return schedule "attention" {
  target = "cpu",

  generator = {
    softmax = "two_pass",
    key_block = tune { 8, 16, 32, default = 16 }, -- keys of a register tile
  },

  params = {
    vectors  = tune { 1, 2, 3, default = 1 },             -- vectors of queries a strip
    depth    = tune { 8, 16, 32, default = 16 },          -- of the register tile of p v
    head_dim = tune { 0, 32, 64, 96, 128, default = 0 },  -- a constant, if not 0
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local queries = lanes * p.vectors

    attention.fix_head_dim(k, p.head_dim)

    local strip, row = k.out:split("i", queries, "guard", "strip", "row")
    local tile, col = k.out:split("d", p.depth, "guard", "tile", "col")
    k.out:reorder(col, row, tile, strip, "h", "n")
    local head = k.out:fuse("h", "n", "head"):parallel()
    k.out:vectorize(col, lanes, "guard")

    -- Once a head: keys and values in f32, padded to whole blocks.
    for _, copy in ipairs { k.k_f, k.v_f } do
      copy:compute_at(head):vectorize("d", lanes, "guard")
    end

    -- Once a strip: queries turned into the lanes, scores, maxima, exponentials, sums.
    k.q_f:compute_at(strip):reorder_storage("i", "d", "h", "n"):bound_extent("i", queries)
      :reorder("i", "d"):vectorize("i", lanes)
    k.logits:compute_at(strip):reorder_storage("i", "j", "kb", "h", "n"):bound_extent("i", queries)
      :reorder("i", "j", "kb"):vectorize("i", lanes):unroll("j")
    k.scores:compute_at(k.logits, "kb"):store_in("stack"):reorder_storage("i", "j", "kb", "h", "n")
      :reorder("i", "j"):vectorize("i", lanes):unroll("i"):unroll("j")
    k.scores:update(0):reorder("i", "j", "depth"):vectorize("i", lanes):unroll("i"):unroll("j")
    for _, sum in ipairs { k.row_max, k.row_sum } do
      sum:compute_at(strip):bound_extent("i", queries):vectorize("i", lanes)
      sum:update(0):reorder("i", "key_x", "key_y"):vectorize("i", lanes):unroll("key_x")
    end
    k.p:compute_at(strip):reorder_storage("i", "j", "kb", "h", "n"):bound_extent("i", queries)
      :reorder("i", "j", "kb"):vectorize("i", lanes)
    k.inv_sum:compute_at(strip):bound_extent("i", queries):vectorize("i", lanes)

    -- p v in registers, a tile of columns at a time.
    k.acc:compute_at(tile):store_in("stack"):reorder_storage("i", "d", "h", "n")
      :bound_extent("i", queries):bound_extent("d", p.depth)
      :reorder("i", "d"):vectorize("i", lanes):unroll("i"):unroll("d")
    k.acc:update(0):reorder("i", "d", "key_x", "key_y"):vectorize("i", lanes):unroll("i"):unroll("d")
  end,
}
