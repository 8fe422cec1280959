-- Attention of one token over few keys, a block a head: threads have a key each for the logits, and a vector of the head and some of the keys for
-- the values. For heads of 64, 128 or 256.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "attend" {
  target = "cuda",

  generator = { type = tune { "float16", "bfloat16", "float32", default = "float16" } },

  params = {
    head_dim = tune { 0, 64, 128, 256, default = 0 }, -- 0: a version for each
    threads  = tune { 128, 256, 512, default = 256 },
    near     = tune { 1, 2, 4, default = 4 }, -- keys that a thread has under way for the values
  },

  where = function(p) return p.threads >= p.head_dim end,

  versions = function(k, p)
    if p.head_dim > 0 then return { {} } end
    local width = k.qkv:dim(0):extent()
    return {
      { when = width:eq(64), head_dim = 64 },
      { when = width:eq(128), head_dim = 128 },
      { head_dim = 256 },
    }
  end,

  apply = function(k, p)
    k.qkv:dim(0):set_bounds(0, p.head_dim)
    k.together:bound("i", 0, p.head_dim)
    local vector = grid.vector_of(k.cache)

    -- In the pure stage nothing is computed, but Halide takes it for something that the host does.
    k.together:gpu_blocks("row"):gpu_threads "i"
    local out = k.together:update(0)
    out:split("i", p.threads, "guard", "chunk", "thread")
    out:reorder("thread", "chunk", "r"):gpu_blocks("r"):gpu_threads("thread"):never_partition_all()
    local block = { k.together, "r" }

    local function by_threads(func, dim)
      func:compute_at(block[1], block[2]):store_in "gpu_shared":bound_extent("row", 1)
      func:split(dim, p.threads, "guard", "chunk", "thread")
      func:reorder("thread", "chunk", "row"):gpu_threads("thread"):never_partition_all()
    end
    local function by_all(func, loop, unroll)
      func:bound_extent("row", 1)
      reduce.in_block(func, loop, { at = block, threads = p.threads, vector = 1, unroll = unroll })
    end
    if k:has "squares_q" then
      for _, squares in ipairs { k.squares_q, k.squares_k } do by_all(squares, "of_head", 1) end
    end
    for _, func in ipairs { k.q, k.new_key, k.new_value } do by_threads(func, "i") end
    by_all(k.dot_new, "depth", 1)
    by_threads(k.logits, "key")
    k.dot:compute_at(k.logits, "thread"):store_in "register":bound_extent("key", 1):bound_extent("row", 1)
    k.dot:update(0):split("depth", vector, "auto", "step", "lane")
    k.dot:update(0):unroll("lane"):unroll("step"):never_partition_all()
    k.k_f:compute_at(k.dot, "step"):store_in "register":bound_extent("i", vector):bound_extent("key", 1):bound_extent("row", 1):vectorize "i"
    by_all(k.top, "key", 1)
    by_threads(k.weights, "key")
    by_all(k.total, "key", 1)

    local along = p.head_dim // vector -- threads side by side along the head
    k.acc:update(0):split("key", p.threads // along, "guard", "turn", "part")
    local part = k.acc:update(0):rfactor("part", { "of_part" })
    local parts = part:in_():compute_at(block[1], block[2]):store_in "gpu_shared"
    parts:bound_extent("row", 1):bound_extent("of_part", p.threads // along)
    parts:split("i", vector, "auto", "step", "lane")
    parts:fuse("step", "of_part", "thread")
    parts:reorder("lane", "thread", "row"):vectorize("lane"):gpu_threads("thread"):never_partition_all()
    part:compute_at(parts, "thread"):store_in "register":bound_extent("i", vector):bound_extent("row", 1):bound_extent("of_part", 1)
    part:vectorize "i"
    part:update(0):split("turn", p.near, "guard", "turns", "near")
    part:update(0):reorder("i", "near", "turns", "of_part", "row"):vectorize("i")
      :unroll("near"):never_partition_all()
    k.v_f:compute_at(part, "near"):store_in "register":bound_extent("i", vector):bound_extent("key", 1):bound_extent("row", 1):vectorize "i"
    k.acc:compute_at(k.together, "thread"):store_in "register":bound_extent("row", 1):bound_extent("i", 1):never_partition_all()
    k.acc:update(0):unroll "part"
  end,
}
