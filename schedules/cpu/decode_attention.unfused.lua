-- Attention of a few queries over a cache without fusion: scores, exponentials and the products of the
-- splits go to memory, each in its own pass. The products run in registers as in
-- decode_attention.lua, so the difference between the two is the traffic between the passes.

local decode = require "lib.decode_attention"

return schedule "decode_attention" {
  target = "cpu",

  generator = { split_keys = 512, row_block = 4 },

  params = {
    head_dim = tune { 0, 64, 128, default = 0 }, -- a constant, if not 0
  },

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    decode.fix_head_dim(k, p.head_dim)

    k.q_f:compute_root():bound("r", 0, p.row_block):vectorize("d", lanes, "guard")
    for _, stage in ipairs { k.logits, k.p } do
      stage:compute_root():bound("r", 0, p.row_block):reorder_storage("j", "kb", "r", "sp", "rb", "hk", "n")
        :reorder("j", "r", "kb", "sp", "rb", "hk", "n"):parallel "hk":vectorize("j", lanes)
    end
    k.logits:unroll "r"
    decode.dot_products(k, { keys = 4, row_block = p.row_block }, lanes)
    for _, reduction in ipairs { k.row_max, k.row_sum } do
      reduction:compute_root():bound("r", 0, p.row_block)
      decode.reduce_keys(reduction, lanes, nil)
    end

    local tile, col = k.split:split("d", 64, "guard", "tile", "col")
    k.split:compute_root():reorder(col, "r", tile, "sp", "rb", "hk", "n"):parallel "hk":vectorize(col, lanes, "guard")
    decode.weigh_values(k, { depth = 64, row_block = p.row_block }, lanes)

    local all = k.mean:compute_root():reorder("d", "r", "rb", "hk", "n"):fuse("hk", "n", "all"):parallel()
    decode.all_splits(k, target, all)
  end,
}
