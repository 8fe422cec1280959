-- What the schedules of attention share.

local gemm = require "lib.gemm"

local attention = {}

-- Keys and values, which may lie in pages.
function attention.keys(k) return k:has "k_pages" and k.k_pages or k.k end
function attention.values(k) return k:has "v_pages" and k.v_pages or k.v end

-- Makes the head dimension a constant, so that loops over it have a known length.
--
--   for d in 0..q.extent[0]
--     ->
--   for d in 0..head_dim        -- checked when the library is called
--
-- k         the Funcs of the generator        head_dim    0 leaves it a run-time value
function attention.fix_head_dim(k, head_dim)
  if head_dim > 0 then
    for _, buffer in ipairs { k.q, attention.keys(k), attention.values(k), k.out } do
      buffer:dim(0):set_bounds(0, head_dim)
    end
  end
end

-- Orders the loops of a product for sums in registers, in pairs where one instruction multiplies and adds them.
--
--   for i, j: for r: acc += a * b
--     ->
--   for pair of r: for j, i: acc += a * b + a' * b'
--
-- update    the update that sums        inner    the loops of a tile, innermost first
-- over      the loop of the sum         around   loops around that        dot    in pairs
function attention.multiply(update, o)
  local i, j = table.unpack(o.inner)
  local around = o.around or {}
  if not o.dot then return update:reorder(i, j, o.over, table.unpack(around)) end
  local pairs, member = update:split(o.over, 2, "guard", "pairs", "member")
  return update:reorder(member, i, j, pairs, table.unpack(around)):atomic():vectorize(member)
end

-- Transposes rows of memory, one a query, so that queries lie in the lanes: 8 by 8 in registers.
--
--   for j: for i: use of func(j, i)
--     ->
--   for tile of j: for tile of i
--     for i: rows in registers = func(j..., i)
--     for j: turned(i..., j) = columns of the rows
--   for j: for i: use of turned(i, j)
--
-- func      a Func over `col` and "i", 8 or a multiple of it each, and over `others`
-- reader    the Func that uses it      size    the extent of `col`, all of which is read
-- Returns the transposed Func, for compute_at.
function attention.turn(func, reader, col, size, others)
  local turned = func:in_(reader)
  turned:reorder_storage("i", col, table.unpack(others)):bound(col, 0, size)
  local cols, line = turned:split(col, 8, "auto", "cols", "line")
  local rows, lane = turned:split("i", 8, "auto", "rows", "lane")
  turned:reorder(lane, line, cols, rows):vectorize(lane):unroll(line)
  func:compute_at(turned, "cols"):store_in "stack":bound_extent(col, 8):bound_extent("i", 8):reorder(col, "i"):vectorize(col, 8):unroll "i"
  return turned
end

-- Attention in two passes over the scores of a strip of queries; see attention.lua.
--
-- tiles     products by tile instructions (AMX): whole blocks of keys and of queries, all of the sum at once
function attention.two_pass(k, p, target, tiles)
  local lanes = target:lanes "f32"
  local wide = target.vector_registers >= 32
  local converts = attention.keys(k):type() ~= k.q:type()
  if tiles and k:has "k_pages" then error "page: tiles read keys that lie one after the other; attention.lua has pages" end
  if tiles and converts then
    error "cache_type: tiles multiply keys and values as they are stored, in the type of the queries: attention.lua converts them"
  end
  local dot = tiles or not converts and gemm.has_dot(target, k.q:type(), p.query_block)
  -- Sums that registers hold; blocks for tile instructions may be larger.
  local keys = p.query_block * p.key_block <= 512 and p.key_block or 256 // p.query_block
  local queries, keys_of_tile = p.query_block, keys -- of register tiles
  local depth = p.depth > 0 and p.depth or 256 // p.query_block
  if not wide then queries, keys_of_tile, depth = 2 * lanes, 4, 4 end

  -- Halide's compute_with would have each strip compute the scores of all heads.
  if k:has "lse" then error "store_lse=true is for attention.unfused.lua: strips of queries keep their maxima and sums to themselves" end
  attention.fix_head_dim(k, p.head_dim)

  local strip, row = k.out:split("query", p.query_block, "guard", "strip", "row")
  local group, step = k.out:split(strip, p.strips, "guard", "group", "step")
  local tile, col = k.out:split("d", depth, "guard", "tile", "col")
  k.out:reorder(col, row, tile, step, group, "h", "n"):never_partition(step)
  local task = k.out:fuse(group, "h", "task"):fuse("n", "task_of_all"):parallel()
  k.out:vectorize(col, lanes, "guard")
  -- Once a task: keys and values in f32 or in pairs, padded to whole blocks. Values of f32 would be far slower to read where they lie;
  -- keys would do as well there.
  if tiles then
    k.k_pairs:compute_at(task):vectorize("d", lanes, "guard")
    k.v_pairs:compute_at(task):reorder_storage("m", "j", "kb", "d", "hk", "n"):bound("m", 0, 2):reorder("m", "d"):unroll "m"
  else
    local dot_v = dot and k:has "v_pairs"
    for _, copy in ipairs { dot and k.k_pairs or k.k_f, dot_v and k.v_pairs or k.v_f } do
      copy:compute_at(task):vectorize("d", lanes, "guard")
    end
    if dot_v then k.v_pairs:bound("m", 0, 2):reorder("d", "m"):unroll "m" end
  end

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
  local tiles_of_keys, key = k.logits:split("j", keys_of_tile, "auto", "keys", "key")
  local parts, in_part = k.logits:split("i", queries, "auto", "parts", "in_part")
  k.logits:reorder(in_part, key, tiles_of_keys, parts, "kb"):vectorize(in_part, lanes):unroll(key)
  -- What is added to scores lies by queries, in whole vectors of keys but for the last block.
  local added = { mask_f = { "kb", "ib" }, bias_f = { "kb", "ib", "h", "n" } }
  for name, others in pairs(added) do
    if k:has(name) then attention.turn(k[name], k.logits, "j", p.key_block, others):compute_at(k.logits, "kb") end
  end
  if not k:has "mask_f" and not k:has "bias_f" then k.logits:never_partition "kb" end
  k.scores:store_in("stack"):reorder_storage("i", "j", "kb", "ib", "h", "n"):reorder("i", "j"):vectorize("i", lanes)
  if tiles then
    k.scores:compute_at(k.logits, "kb"):bound_extent("j", p.key_block):bound_extent("i", p.query_block)
    local product = k.scores:update(0)
    local groups, member = product:split("depth", 2, "guard", "groups", "member")
    product:reorder(member, "i", "j", groups):mma()
  else
    k.scores:compute_at(k.logits, "keys"):bound_extent("i", queries):bound_extent("j", keys_of_tile):unroll("i"):unroll("j")
    attention.multiply(k.scores:update(0), { inner = { "i", "j" }, over = "depth", dot = dot })
      :vectorize("i", lanes):unroll("i"):unroll("j")
  end
  for _, sum in ipairs { k.row_max, k.row_sum } do
    sum:compute_at(step):vectorize("i", lanes)
    local keys_of_row = sum:update(0)
    if keys_of_row:has_condition() then
      keys_of_row:reorder("i", "key_x", "key_y"):vectorize("i", lanes):unroll("key_x")
    else -- a chain for each key of a block: in one chain, each operation would wait for the one before
      local over, last, loops = "key_x", "key", { "i", "u", "key" }
      if keys < p.key_block then
        keys_of_row:split("key_x", keys, "guard", "key_group", "key_chain")
        over, last, loops = "key_chain", "key_chain", { "i", "u", "key_group", "key" }
      end
      local partial = keys_of_row:rfactor(over, { "u" })
      keys_of_row:reorder("i", last):vectorize("i", lanes):unroll(last)
      partial:compute_at(step):store_in("stack"):reorder_storage("i", "u", "ib", "h", "n")
        :bound_extent("i", p.query_block):bound_extent("u", keys):vectorize("i", lanes):unroll("i"):unroll("u")
      partial:update(0):reorder(table.unpack(loops)):vectorize("i", lanes):unroll("i"):unroll("u")
    end
  end
  -- Eight vectors of exponentials are computed together, as one alone is a long chain of operations.
  local function weigh(func, loops, keys_of_block)
    func:compute_at(step):bound_extent("i", p.query_block):bound_extent("j", keys_of_block)
      :reorder(table.unpack(loops)):vectorize("i", lanes):unroll("i")
      :unroll("j", math.max(1, math.min(8 * lanes // p.query_block, keys_of_block)))
  end
  if k:has "weight_pairs" then
    k.weight_pairs:bound("m", 0, 2):vectorize "m"
    weigh(k.weight_pairs, { "m", "i", "j", "kb" }, p.key_block // 2)
  else
    k.p:reorder_storage("i", "j", "kb", "ib", "h", "n")
    weigh(k.p, { "i", "j", "kb" }, p.key_block)
  end
  if k:has "weight_parts" then
    k.weight_parts:bound("m", 0, 2):bound("part", 0, 2):vectorize "m"
    weigh(k.weight_parts, { "m", "i", "part", "j", "kb" }, p.key_block // 2)
    k.weight_parts:unroll "part"
  end
  k.inv_sum:compute_at(step):vectorize("i", lanes)

  local of_all = { "key_y", k:has "weight_parts" and "key_z" or nil } -- the loops of p v over blocks of keys, and parts of weights
  if tiles then
    k.acc:compute_at(step):store_in("stack"):reorder_storage("i", "d", "ib", "h", "n")
      :bound_extent("i", p.query_block):bound_extent("d", p.head_dim):reorder("i", "d"):vectorize("i", lanes)
    local product = k.acc:update(0)
    local groups, member = product:split("key_x", 2, "guard", "groups", "member")
    product:reorder(member, "i", "d", groups, table.unpack(of_all)):mma()
    return
  end

  -- p v in registers, a tile of columns at a time.
  k.acc:compute_at(tile):store_in("stack"):reorder_storage("i", "d", "ib", "h", "n")
    :bound_extent("i", p.query_block):bound_extent("d", depth)
    :reorder("i", "d"):vectorize("i", lanes):unroll("i"):unroll("d")
  local parts_of_acc, query = k.acc:update(0):split("i", queries, "auto", "parts", "query")
  table.insert(of_all, parts_of_acc)
  attention.multiply(k.acc:update(0), { inner = { query, "d" }, over = "key_x", around = of_all, dot = dot and k:has "v_pairs" })
    :vectorize(query, lanes):unroll(query):unroll("d"):unroll(parts_of_acc)
end

return attention
