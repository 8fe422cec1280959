-- What the CUDA schedules of grouped_gemm share.

local gemm = require "lib.gpu_gemm"
local tiles = require "lib.gpu_tiles"
local elementwise = require "lib.gpu_elementwise"

local experts = {}

-- The products of a slot: two, if they are gated.
local function products(k)
  return k:has "gate" and { { k.gate, k.w_gate_f }, { k.up, k.w_up_f } } or { { k.acc, k.w_f } }
end

-- How many slots are before those of an expert, and what each slot is: kernels of a few threads before the products.
function experts.slots(k)
  local before = k.slots_before:in_():compute_root()
  elementwise.elements(before, { rows = { "e" }, threads = 32 })
  k.slots_before:compute_at(before, "thread"):store_in "register"
  elementwise.elements(k.slot:compute_root(), { rows = { "t" }, threads = 64 })
  k.slot_expert:compute_at(k.slot, "thread"):store_in "register"
end

-- The Func that has the rows of slots: y, or what is summed by token.
local function rows_of_slots(k)
  return k:has "sum" and k.product_rows:compute_root() or k.y
end

-- Has threads clear the rows that no expert has, and sum those of each token.
local function other_rows(k, out, p)
  -- Nothing is computed there, but Halide takes it for something that the host does.
  out:split("col", p.threads, "guard", "block", "thread")
  out:gpu_blocks({ "block", "row" }):gpu_threads("thread"):never_partition_all()
  local left = out:update(1) -- a thread for each row, as there are hardly any
  left:split("left", p.threads, "guard", "block", "thread")
  left:reorder("col", "thread", "block"):gpu_blocks("block"):gpu_threads("thread"):never_partition_all()
  if k:has "sum" then
    elementwise.vectors(k.y, { rows = { "row" }, threads = p.threads, unroll = 1, vector = 4 })
    k.sum:compute_at(k.y, "thread"):store_in "register":bound_extent("col", 4):bound_extent("row", 1):vectorize "col"
    k.sum:update(0):reorder("col", "s"):vectorize "col"
  end
end

-- The versions of a product of experts: tiles of 64 rows where an expert has few, with as many columns as leave blocks for all
-- multiprocessors. Measured on an H200 with the sizes of seven models (docs/notes/2026-11-experts.md).
--
-- k       with row_index or x, offsets and weights
function experts.versions(k, target)
  local rows = k:has "row_index" and k.row_index:dim(0):extent() or k.x:dim(1):extent()
  local gated = k:has "gate"
  local columns = (gated and k.w_gate_nk or k.w_nk):dim(1):extent()
  local all = k.offsets:dim(0):extent() - 1
  local function each_has(most) return rows:at_most(all * most) end
  if gated then
    local blocks = rows * ((columns + 127) // 128) -- if each row has an expert of its own
    return {
      { when = each_has(16):and_(blocks:at_most(target.multiprocessors)), rows = 64, columns = 64, stages = 6 },
      { when = each_has(16), rows = 64, columns = 128, stages = 4 },
      { rows = 128, columns = 128, stages = 4 },
    }
  end
  return {
    { when = each_has(128), rows = 64, columns = 256, stages = 4 },
    { rows = 128, columns = 256, stages = 3 },
  }
end

-- Has the tensor cores compute a tile of a slot's rows in a block. The rows of x are fetched by their index.
--
--   for slot: for row: for col: y
--     ->
--   blocks tile_col, slot
--     if it has rows: for step: fetch tiles of x and w | acc += x * w
--     y rows = f(acc)
--
-- p       as of gemm.tensor_tiles(), rows those of a slot; threads of a block that clears or sums rows
function experts.tensor_tiles(k, p)
  experts.slots(k)
  local out = rows_of_slots(k)
  local rows = out:update(0)
  rows:split("col", p.columns, "guard", "tile_col", "col_in_tile")
  rows:reorder("col_in_tile", "r_x", "tile_col", "r_y"):gpu_blocks({ "tile_col", "r_y" }):never_partition_all()
  for _, product in ipairs(products(k)) do
    gemm.tensor_sums(product[1], { out, "tile_col" }, p, { row = "i", others = { "t" } })
  end
  other_rows(k, out, p)
end

-- The same without tensor cores: operands in shared memory, sums in the registers of threads (tiles.sums()).
--
-- p       rows, columns, depth, as tiles.sums() takes them; threads as above
function experts.thread_tiles(k, p)
  experts.slots(k)
  if k:has "source" then elementwise.elements(k.source:compute_root(), { rows = { "i", "t" }, threads = 128 }) end
  local out = rows_of_slots(k)
  local rows = out:update(0)
  rows:split("col", p.columns, "guard", "tile_col", "col_in_tile")
  local col = tiles.pieces(rows, "col_in_tile")
  rows:split("r_x", p.rows // 16, "guard", "row_thread", "row_near") -- as the sums are cut among 16 threads
  rows:reorder(col.near, col.part, "row_near", col.thread, "row_thread", "tile_col", "r_y")
  rows:gpu_threads({ col.thread, "row_thread" }):gpu_blocks({ "tile_col", "r_y" }):vectorize(col.near):never_partition_all()
  local o = { row = "i", rows = p.rows, columns = p.columns, depth = p.depth, others = { "t" } }
  local all = products(k)
  for _, product in ipairs(all) do
    local acc, w = table.unpack(product)
    o.a = { func = all[2] and k.x_f:in_(acc) or k.x_f, loop = "i", k = "k", together = "k", others = { "t" } }
    o.b = { func = w, loop = "col", k = "k", together = "k", others = { "t" } }
    tiles.sums(acc, { out, "tile_col" }, o)
  end
  other_rows(k, out, p)
end

return experts
