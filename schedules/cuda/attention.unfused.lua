-- Attention without fusion and without tensor cores: all logits, the maxima of their rows, all weights, their sums,
-- the product with the values and the result, each a kernel of its own over device memory, as a chain of library
-- calls would be. Products are summed in tiles of registers, in f32.

local elementwise = require "lib.gpu_elementwise"
local reduce = require "lib.gpu_reduce"
local tiles = require "lib.gpu_tiles"

return schedule "attention" {
  target = "cuda",

  generator = {
    softmax = "two_pass",
    key_block = tune { 64, 128, default = 128 },   -- of a tile of logits
    query_block = tune { 64, 128, default = 128 }, -- of a tile of either product
  },

  params = {
    depth   = tune { 16, 32, default = 16 }, -- of a step along the head, or along the keys
    threads = tune { 128, 256, default = 256 },
    unroll  = tune { 1, 2, 4, default = 4 },
  },

  apply = function(k, p)
    local keys, queries = p.key_block, p.query_block
    local function tiled(func, loop, block)
      func:compute_root():bound("i", 0, queries)
      tiles.over_threads(func, loop, "i", { block, "ib", "h", "n" })
      func:fuse("h", "n", "head")
      func:gpu_blocks { block, "ib", "head" }
    end
    for _, of_keys in ipairs { k.logits, k.p } do of_keys:bound("j", 0, keys):bound("i", 0, queries) end

    tiled(k.logits, "j", "kb")
    tiles.sums(k.scores, { k.logits, "kb" }, {
      a = { func = k.q_f, loop = "i", k = "d", together = "k", others = { "ib", "h", "n" } },
      b = { func = k.k_f, loop = "j", k = "d", together = "k", others = { "kb", "hk", "n" } },
      rows = queries, columns = keys, depth = p.depth, row = "i", col = "j", k = "depth",
      others = { "kb", "ib", "h", "n" },
    })

    -- A warp a query.
    for _, reduction in ipairs { k.row_max, k.row_sum } do
      local stored = reduction:in_():compute_root():bound("i", 0, queries)
      stored:fuse("h", "n", "head")
      stored:gpu_blocks { "i", "ib", "head" }
      for _, dim in ipairs { "i", "ib", "h", "n" } do reduction:bound_extent(dim, 1) end
      reduce.in_block(reduction, "key_x", { at = { stored, "i" }, threads = 32, vector = keys // 32, unroll = 1 })
    end
    elementwise.vectors(k.p:compute_root(), {
      col = "j", rows = { "i", "kb", "ib", "h", "n" }, lanes = keys // 4, threads = p.threads, unroll = p.unroll,
    })

    local product = k.acc:in_():compute_root()
    product:split("d", 64, "guard", "tile_d", "in_d")
    tiled(product, "in_d", "tile_d")
    tiles.sums(k.acc, { product, "tile_d" }, {
      a = { func = k.p:in_(k.acc), loop = "i", k = "j", together = "k", others = { "kb", "ib", "h", "n" } },
      b = { func = k.v_f, loop = "d", k = "j", together = "col", others = { "kb", "hk", "n" } },
      rows = queries, columns = 64, depth = p.depth, row = "i", col = "d", k = "key_x", around = { "key_y" },
      others = { "ib", "h", "n" },
    })

    elementwise.elements(k.inv_sum:compute_root(), { rows = { "i", "ib", "h", "n" }, threads = p.threads })
    if k:has "lse" then elementwise.elements(k.lse, { rows = { "query", "h", "n" }, threads = p.threads }) end
    elementwise.vectors(k.out, { col = "d", rows = { "query", "h", "n" }, threads = p.threads, unroll = p.unroll })
  end,
}
