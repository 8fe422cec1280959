-- Attention on the host in one pass over the keys (flash attention): a block of scores, its running
-- maximum and its probabilities live in L1 and nothing else of the scores exists. The
-- accumulator is rescaled once a block. attention.lua is faster while a strip of scores fits L2;
-- this one is for keys by the ten thousand.

return schedule "attention" {
  target = "cpu",

  generator = {
    softmax = "online",
    key_block = tune { 16, 32, 64, default = 64 },
  },

  params = {
    head_dim = tune { 0, 32, 64, 96, 128, default = 0 }, -- a constant, if not 0
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"

    if p.head_dim > 0 then
      for _, buffer in ipairs { k.q, k.k, k.v, k.out } do
        buffer:dim(0):set_bounds(0, p.head_dim)
      end
    end

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
    k.acc:update(0):reorder("i", "d", "block"):vectorize("i", lanes)

    -- Once a block. The maxima of the blocks before stay, one vector each. A causal block may be
    -- needed from the middle of the strip on: it is computed from its start all the same.
    for _, stage in ipairs { k.scores, k.block_max, k.last_max, k.row_max, k.p, k.alpha, k.pv } do
      stage:compute_at(k.acc, "block"):align_bounds("i", lanes, k.out:dim(1):min()):bound_extent("i", lanes)
    end
    k.block_max:store_at(strip)
    k.scores:reorder_storage("i", "j", "kb", "h", "n"):reorder("i", "j"):vectorize("i", lanes)
    k.scores:update(0):reorder("i", "depth", "j"):vectorize("i", lanes)
    k.block_max:vectorize("i", lanes)
    k.block_max:update(0):reorder("i", "key"):vectorize("i", lanes)
    k.last_max:vectorize("i", lanes)
    k.last_max:update(0):reorder("i", "block"):vectorize("i", lanes)
    k.row_max:vectorize("i", lanes)
    k.p:reorder_storage("i", "j", "kb", "h", "n"):reorder("i", "j"):vectorize("i", lanes)
    k.alpha:vectorize("i", lanes)
    k.pv:reorder_storage("i", "d", "kb", "h", "n"):reorder("i", "d"):vectorize("i", lanes)
    k.pv:update(0):reorder("i", "key", "d"):vectorize("i", lanes)
  end,
}
