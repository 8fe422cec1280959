-- Attention on the host: a strip of queries at a time, two passes over its scores in L2.
-- Queries lie in the SIMD lanes, so maxima, exponentials and sums need no shuffles, and
-- keys and values enter as broadcasts. Scores exist for one strip only, and for the blocks of keys
-- that it sees. Two passes beat the online form while a strip of scores (strip * keys * 4 bytes)
-- fits L2. Register tiles of 32 queries by 8 keys read 10 vectors for 16 of sums, of 16 by 16 17. Emerald Rapids, 1024 x 1024,
-- 8 heads: of 64 18.1 ms for 20.5, of 128 32.6 for 38.0; 12 heads of 32, 256 queries 1.04 for 1.11, but 16 queries 18 us for
-- 12: short sequences want strips of 16. With 16 registers a tile is two vectors by 4, whatever the strip. bf16 is multiplied in pairs where the target can: weights go to memory as pairs of keys of a query.

local attention = require "lib.attention"
local gemm = require "lib.gemm"

return schedule "attention" {
  target = "cpu",

  generator = {
    softmax = "two_pass",
    key_block = tune { 8, 16, 32, default = 8 },    -- keys of a register tile
    query_block = tune { 16, 32, default = 32 }, -- queries a strip
  },

  params = {
    strips   = tune { 8, 16, 32, 128, default = 16 },     -- a task
    depth    = tune { 0, 8, 16, 32, default = 0 },        -- of the register tile of p v; 0: 256 sums
    head_dim = tune { 0, 32, 64, 96, 128, default = 0 },  -- a constant, if not 0
  },

  where = function(p) -- more sums than registers
    return p.query_block * p.key_block <= 512 and p.query_block * p.depth <= 512
  end,

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local wide = target.vector_registers >= 32
    local queries, keys_of_tile = p.query_block, p.key_block -- of register tiles
    local depth = p.depth > 0 and p.depth or 256 // p.query_block
    if not wide then queries, keys_of_tile, depth = 2 * lanes, 4, 4 end

    attention.fix_head_dim(k, p.head_dim)

    local strip, row = k.out:split("query", p.query_block, "guard", "strip", "row")
    local group, step = k.out:split(strip, p.strips, "guard", "group", "step")
    local tile, col = k.out:split("d", depth, "guard", "tile", "col")
    k.out:reorder(col, row, tile, step, group, "h", "n"):never_partition(step)
    local task = k.out:fuse(group, "h", "task"):fuse("n", "task_of_all"):parallel()
    k.out:vectorize(col, lanes, "guard")

    -- Once a task: keys and values in f32 or in pairs, padded to whole blocks. Keys of f32 read where they lie: 17.3 ms for
    -- 16.7 (8 heads of 64), 31.4 for 31.8 (of 128); values too: 23.8, 45.3 (Emerald Rapids).
    local dot = gemm.has_dot(target, k.q:type(), p.query_block)
    for _, copy in ipairs(dot and { k.k_pairs, k.v_pairs } or { k.k_f, k.v_f }) do
      copy:compute_at(task):vectorize("d", lanes, "guard")
    end
    if dot then k.v_pairs:bound("m", 0, 2):reorder("d", "m"):unroll "m" end

    -- Once a strip: queries turned into the lanes, scores, maxima, exponentials, sums.
    if dot then
      k.q_pairs:compute_at(step):bound("m", 0, 2):reorder("m", "i", "d"):vectorize "m":vectorize("i", lanes)
    elseif p.head_dim > 0 and p.head_dim % 8 == 0 then
      attention.turn(k.q_f, k.scores, "d", p.head_dim, { "ib", "h", "n" }):compute_at(step)
    else
      k.q_f:compute_at(step):reorder_storage("i", "d", "ib", "h", "n")
        :reorder("i", "d"):vectorize("i", lanes)
    end
    k.logits:compute_at(step):reorder_storage("i", "j", "kb", "ib", "h", "n")
    local keys, key = k.logits:split("j", keys_of_tile, "auto", "keys", "key")
    local parts, in_part = k.logits:split("i", queries, "auto", "parts", "in_part")
    k.logits:reorder(in_part, key, keys, parts, "kb"):vectorize(in_part, lanes):unroll(key)
    -- What is added to scores lies by queries, in whole vectors of keys but for the last block.
    local added = { mask_f = { "kb", "ib" }, bias_f = { "kb", "ib", "h", "n" } }
    for name, others in pairs(added) do
      if k:has(name) then attention.turn(k[name], k.logits, "j", p.key_block, others):compute_at(k.logits, "kb") end
    end
    if not k:has "mask_f" and not k:has "bias_f" then k.logits:never_partition "kb" end
    k.scores:compute_at(k.logits, "keys"):store_in("stack"):reorder_storage("i", "j", "kb", "ib", "h", "n")
      :bound_extent("i", queries):bound_extent("j", keys_of_tile):reorder("i", "j"):vectorize("i", lanes):unroll("i"):unroll("j")
    attention.multiply(k.scores:update(0), { inner = { "i", "j" }, over = "depth", dot = dot })
      :vectorize("i", lanes):unroll("i"):unroll("j")
    for _, sum in ipairs { k.row_max, k.row_sum } do
      sum:compute_at(step):vectorize("i", lanes)
      local keys_of_row = sum:update(0)
      if keys_of_row:has_condition() then
        keys_of_row:reorder("i", "key_x", "key_y"):vectorize("i", lanes):unroll("key_x")
      else -- one for each key of a block, or each waits for the last one: 1024 x 1024, 8 heads of 64, 19.9 ms to 18.6
        local partial = keys_of_row:rfactor("key_x", { "u" })
        keys_of_row:reorder("i", "key"):vectorize("i", lanes):unroll("key")
        partial:compute_at(step):store_in("stack"):bound_extent("i", p.query_block):bound_extent("u", p.key_block)
          :vectorize("i", lanes):unroll("i"):unroll("u")
        partial:update(0):reorder("i", "u", "key"):vectorize("i", lanes):unroll("i"):unroll("u")
      end
    end
    if dot then
      k.weight_pairs:compute_at(step):bound("m", 0, 2):reorder("m", "i", "j", "kb"):vectorize "m":vectorize("i", lanes)
    else
      k.p:compute_at(step):reorder_storage("i", "j", "kb", "ib", "h", "n")
        :reorder("i", "j", "kb"):vectorize("i", lanes)
    end
    k.inv_sum:compute_at(step):vectorize("i", lanes)

    -- p v in registers, a tile of columns at a time.
    k.acc:compute_at(tile):store_in("stack"):reorder_storage("i", "d", "ib", "h", "n")
      :bound_extent("i", p.query_block):bound_extent("d", depth)
      :reorder("i", "d"):vectorize("i", lanes):unroll("i"):unroll("d")
    local parts_of_acc, query = k.acc:update(0):split("i", queries, "auto", "parts", "query")
    attention.multiply(k.acc:update(0), { inner = { query, "d" }, over = "key_x", around = { "key_y", parts_of_acc }, dot = dot })
      :vectorize(query, lanes):unroll(query):unroll("d"):unroll(parts_of_acc)
  end,
}
