-- What the schedules of decode_attention share.

local attention = require "lib.attention"
local processor = require "lib.processor"

local decode = { fix_head_dim = attention.fix_head_dim, keys = attention.keys }

-- What the fused schedules tune.
decode.generator = {
  split_keys = tune { 128, 256, 512, 1024, default = 512 },
  row_block = tune { 1, 2, 4, default = 4 },
}
decode.params = {
  keys     = tune { 2, 4, 8, default = 4 },      -- of the register tile of scores
  depth    = tune { 32, 64, 128, default = 64 }, -- of the register tile of p v
  head_dim = tune { 0, 64, 128, default = 0 },   -- a constant, if not 0
}

-- Without these there are more sums than registers.
function decode.where(p)
  return p.row_block * p.keys <= 16 and p.row_block * p.depth <= 256
end

-- Whether keys and values are converted to what queries are, or to f32. They have fewer bytes then, and what is done for each
-- takes the time: their sums are in registers, all loops over these unrolled.
function decode.converts(k)
  return decode.keys(k):type() ~= k.q:type()
end

-- Computes one split of the keys where `at` is: scores, maximum, exponentials, sum, and p v.
--
--   at
--     for rb                        -- some rows
--       for kb                      -- some keys: k_f, in order
--         partial in registers: rows x keys vectors, along the depth
--         scores = sums of their lanes
--       row_max, p, row_sum
--       for tile of d
--         acc in registers: rows x columns, over the keys of the split
--
-- p   row_block, keys, depth: of the schedule        at   a loop of k.split, or { Func, its name }
function decode.one_split(k, p, target, at)
  local lanes = target:lanes "f32"
  local function here(func)
    if type(at) == "table" then return func:compute_at(at[1], at[2]) end
    return func:compute_at(at)
  end

  local tile, col = k.split:split("d", decode.tile(p, target).depth, "guard", "tile", "col")
  local converts = decode.converts(k)
  if converts then
    local vectors, lane = k.split:split(col, lanes, "guard", "vectors", "lane")
    k.split:reorder(lane, vectors, "r", tile, "rb"):vectorize(lane):unroll(vectors):unroll "r"
  else
    k.split:reorder(col, "r", tile, "rb"):vectorize(col, lanes, "guard")
  end

  here(k.q_f):bound("r", 0, p.row_block):vectorize("d", lanes, "guard")
  local scaled = k:has "weights"
  for _, stage in ipairs { k.logits, k.p, scaled and k.weights or nil } do
    stage:compute_at(k.split, "rb"):bound("r", 0, p.row_block):reorder_storage("j", "kb", "r", "sp", "rb", "hk", "n")
  end
  k.logits:reorder("j", "r", "kb"):vectorize("j", lanes):unroll "r"
  k.p:reorder("j", "kb", "r"):vectorize("j", lanes)
  if scaled then
    k.weights:reorder("j", "kb", "r"):vectorize("j", lanes)
    for _, factor in ipairs { k.k_factor, k.v_factor } do
      factor:compute_at(k.split, "rb"):bound("j", 0, 16):vectorize("j", lanes)
    end
  end

  -- A block of keys comes into L1 in order, as f32: the dot products walk along several keys at once, which the prefetcher follows
  -- less well. A copy of the values is slower, and so is Halide's prefetch for both. Lines that are read some keys later are prefetched
  -- here and in weigh_values; by how many bytes ahead was tried on an Intel and an AMD processor.
  local of_keys, of_values = 8192, 16384
  if processor.is_intel(target) then of_keys, of_values = 4096, 4096 end
  k.k_f:compute_at(k.logits, "kb")
  if converts then
    local line_of_cache = 16 * target:lanes(decode.keys(k):type()) // lanes
    local line, in_line = k.k_f:split("d", line_of_cache, "guard", "line", "in_line")
    local vector, lane = k.k_f:split(in_line, lanes, "auto", "vector", "lane")
    k.k_f:vectorize(lane):unroll(vector):prefetch_ahead(line, of_keys)
  else
    k.k_f:vectorize("d", lanes, "guard"):prefetch_ahead("d", of_keys)
  end
  decode.dot_products(k, decode.tile(p, target), lanes)
  for _, reduction in ipairs { k.row_max, k.row_sum } do
    reduction:compute_at(k.split, "rb"):bound("r", 0, p.row_block)
    decode.reduce_keys(reduction, lanes, { k.split, "rb" })
  end
  decode.weigh_values(k, decode.tile(p, target), lanes, of_values)
end

-- The tiles of registers that a schedule asks for, or what 16 registers hold.
function decode.tile(p, target)
  if target.vector_registers >= 32 then return p end
  return { row_block = p.row_block, keys = 2, depth = 2 * target:lanes "f32" }
end

-- The scores of a block of keys, in registers at kb of the logits: lanes along the depth, then the sums of
-- the lanes of some keys at once, which takes half as many steps as one after the other.
function decode.dot_products(k, p, lanes)
  k.scores:compute_at(k.logits, "kb"):store_in "stack":bound("j", 0, 16):bound("r", 0, p.row_block)
    :vectorize("j", lanes):unroll "r"
  local update = k.scores:update(0)
  local _, lane = update:split("depth", lanes, "guard", "step", "lane")
  local partial = update:rfactor(lane, { "v" })
  local keys, key = update:split("j", p.keys, "auto", "keys", "key")
  update:reorder(lane, key, "r", keys):atomic():vectorize(lane):vectorize(key):unroll "r"
  partial:compute_at(k.scores, "keys"):store_in "stack":reorder_storage("v", "j", "r", "kb", "sp", "rb", "hk", "n")
    :bound_extent("j", p.keys):bound("r", 0, p.row_block):vectorize "v":unroll "j":unroll "r"
  partial:update(0):reorder("v", "j", "r", "step"):vectorize "v":unroll "j":unroll "r"
end

-- A maximum or a sum over the keys of a split, in the lanes of a block of keys; at the root where `at` is nil.
function decode.reduce_keys(reduction, lanes, at)
  local steps = reduction:update(0)
  local lane_sums = steps:rfactor("key_x", { "v" })
  steps:atomic():vectorize "key"
  if at then lane_sums:compute_at(at[1], at[2]) else lane_sums:compute_root() end
  lane_sums:reorder_storage("v", "r", "sp", "rb", "hk", "n"):vectorize "v"
  lane_sums:update(0):reorder("v", "key", "r"):vectorize "v"
end

-- p v of a split, at a tile of columns of k.split, with values prefetched so many bytes ahead. The sums are meant for registers, but
-- LLVM stores them at every key. It changes neither that nor the time to leave the loops over splits and n apart, so that Halide sees
-- one split.
function decode.weigh_values(k, p, lanes, bytes)
  k.acc:compute_at(k.split, "tile"):store_in "stack":bound_extent("d", p.depth):bound("r", 0, p.row_block)
    :vectorize("d", lanes):unroll "d":unroll "r"
  if decode.converts(k) then k.acc:bound_extent("sp", 1) end
  k.acc:update(0):reorder("d", "r", "key_x", "key_y"):vectorize("d", lanes):unroll "d":unroll "r"
    :prefetch_ahead("key_x", bytes or 4096)
end

-- Weighs the splits, in the loop `at` of k.mean, and writes out.
function decode.all_splits(k, target, at)
  local lanes = target:lanes "f32"
  k.mean:vectorize("d", lanes, "guard")
  for _, stage in ipairs { k.top, k.weight, k.total, k.sum } do stage:compute_at(at) end
  k.sum:vectorize("d", lanes, "guard")
  k.sum:update(0):reorder("d", "split"):vectorize("d", lanes, "guard")
  k.out:vectorize("d", lanes, "guard")
  if k:has "lse" then k.lse:parallel "h" end
end

return decode
