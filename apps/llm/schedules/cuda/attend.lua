-- Attention of one token over few keys, a block a head: threads have a key each for the logits, and a vector of the head and some of the
-- keys for the values. For heads of 64, 128 or 256.

local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

return schedule "attend" {
  target = "cuda",

  generator = { type = tune { "float16", "bfloat16", "float32", default = "float16" } },

  params = {
    head_dim = tune { 0, 64, 128, 256, default = 0 }, -- 0: a version for each
    threads  = tune { 128, 256, 512, default = 256 },
    near     = tune { 1, 2, 4, default = 4 }, -- keys that a thread has under way for the values
    once     = tune { 0, 1, default = 0, search = false }, -- 1: all keys are, of at most as many as there are threads
  },

  where = function(p) return p.threads >= p.head_dim end,

  versions = function(k, p)
    if p.head_dim > 0 then return { {} } end
    local width, versions = k.qkv:dim(0):extent(), {}
    for _, of in ipairs { { 64, 256 }, { 64, 512 }, { 128, 256 } } do
      local dim, keys = table.unpack(of)
      table.insert(versions, { when = width:eq(dim):and_(k.keys:at_most(keys)), head_dim = dim, threads = keys, once = 1 })
    end
    for _, dim in ipairs { 64, 128 } do table.insert(versions, { when = width:eq(dim), head_dim = dim }) end
    table.insert(versions, { head_dim = 256 })
    return versions
  end,

  apply = function(k, p)
    k.qkv:dim(0):set_bounds(0, p.head_dim)
    k.together:bound("i", 0, p.head_dim)
    local vector = grid.vector_of(k.cache)

    -- In the pure stage nothing is computed, but Halide takes it for something that the host does.
    k.together:gpu_blocks(k:has "slot_of" and { "row", "slot" } or { "row" }):gpu_threads "i"
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
    -- Asked once, and not for each key.
    local numbers = { k.key_head_of, k.x_last }
    if k:has "slot_of" then numbers = { k.token_of, k.slot_of, table.unpack(numbers) } end
    for _, number in ipairs(numbers) do
      number:compute_at(block[1], block[2]):store_in "register":bound_extent("row", 1)
    end
    k.x:fuse("i", "part", "of_part")
    by_threads(k.x, "of_part")
    by_threads(k.logits, "key")
    k.dot_own:compute_at(k.logits, "thread"):store_in "register":bound_extent("row", 1)
    k.dot_own:update(0):unroll("depth", vector):never_partition_all()
    k.dot:compute_at(k.logits, "thread"):store_in "register":bound_extent("key", 1):bound_extent("row", 1)
    k.dot:update(0):split("depth", vector, "auto", "step", "lane")
    k.dot:update(0):unroll("lane"):unroll("step"):never_partition_all()
    by_all(k.top, "key", 1)
    by_threads(k.weights, "key")
    by_all(k.total, "key", 1)

    local along = p.head_dim // vector -- threads side by side along the head
    local side = p.threads // along    -- and keys beside each other
    k.acc:update(0):split("key", side, "guard", "turn", "part")
    local part = k.acc:update(0):rfactor("part", { "of_part" })
    local parts = part:in_():compute_at(block[1], block[2]):store_in "gpu_shared"
    parts:bound_extent("row", 1):bound_extent("of_part", side)
    parts:split("i", vector, "auto", "step", "lane")
    parts:fuse("step", "of_part", "thread")
    parts:reorder("lane", "thread", "row"):vectorize("lane"):gpu_threads("thread"):never_partition_all()
    part:compute_at(parts, "thread"):store_in "register":bound_extent("i", vector):bound_extent("row", 1):bound_extent("of_part", 1)
    part:vectorize "i"
    part:update(0):split("turn", p.once == 1 and along or p.near, "guard", "turns", "near")
    part:update(0):reorder("i", "near", "turns", "of_part", "row"):vectorize("i"):unroll("near"):never_partition_all()
    k.acc:compute_at(k.together, "thread"):store_in "register":bound_extent("row", 1):bound_extent("i", 1):never_partition_all()
    k.acc:update(0):unroll "part"

    if p.once == 0 then
      k.k_rows:compute_at(k.dot, "step"):bound_extent("i", vector):bound_extent("key", 1):vectorize "i"
      k.v_rows:compute_at(part, "near"):bound_extent("i", vector):bound_extent("key", 1):vectorize "i"
      for _, rows in ipairs { k.k_rows, k.v_rows } do rows:store_in "register":bound_extent("row", 1) end
      return
    end
    -- All keys and values of the block in the registers of the threads that will need them.
    for _, rows in ipairs { k.k_rows, k.v_rows } do
      rows:compute_at(block[1], block[2]):store_in "register":bound_extent("row", 1):bound("key", 0, p.threads)
      rows:split("i", vector, "auto", "step", "lane")
    end
    k.k_rows:reorder("lane", "step", "key", "row"):vectorize("lane"):unroll("step"):gpu_threads "key"
    k.v_rows:split("key", side, "auto", "turn", "part")
    k.v_rows:fuse("step", "part", "thread")
    k.v_rows:reorder("lane", "turn", "thread", "row"):vectorize("lane"):unroll("turn"):gpu_threads "thread"
  end,
}
