-- The front of attention on a GPU: heads of projections, and their rows in the cache (generators/qkv_rope.cpp).

local elementwise = require "lib.gpu_elementwise"
local front = require "lib.qkv_rope"
local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"

local gpu = {}

-- What stores each projection, as qkv_rope.lua has it; q too is an update over its tokens.
function gpu.projections(k)
  local list = front.projections(k)
  list[1].stage = k.q:update(0)
  return list
end

-- Versions by the tiles of the product, and by the neighbouring elements that a thread may have: all of them are turned or none. Each sets
-- the parameter "vector".
function gpu.versions(k, p, target)
  local half = (k:has "cos_table" and k.cos_table or k.frequencies):dim(0):extent()
  local turned = k:has "swapped_neighbours_q" and half * 2 or half
  local columns = { k.w_q_nk:dim(1):extent(), k.w_k_nk:dim(1):extent(), k.w_v_nk:dim(1):extent() }
  local size = { rows = k.x:dim(1):extent(), columns = columns, depth = k.x:dim(0):extent() }
  local function tiles(often)
    return p.rows > 0 and { {} } or gemm.versions(size, target, { in_one_block = true, invariant = p.invariant, often = often })
  end
  if p.vector > 0 then return tiles() end
  local versions = {}
  for _, v in ipairs { { when = turned:multiple_of(4), vector = 4 }, { vector = 1 } } do
    for _, tile in ipairs(tiles(v.vector == 1)) do
      local version = { when = v.when, vector = v.vector }
      for name, value in pairs(tile) do version[name] = value end
      table.insert(versions, version)
    end
  end
  return versions
end

-- The projections on the tensor cores, in f32 in device memory.
--
--   for row: for col: linear = bias + sum over k of x * w
--     ->
--   blocks tile: as gemm.tensor_tiles() has it
function gpu.products(k, p)
  for _, to in ipairs(gpu.projections(k)) do
    local linear, heads = k["linear_" .. to.name]:compute_root(), to.out:dim(to.name == "q" and 1 or 2):extent()
    linear:bound("col", 0, k.q:dim(0):extent() * heads):bound("row", 0, k.x:dim(1):extent())
    gemm.tensor_tiles(linear, k["acc_" .. to.name], p)
  end
end

-- Nothing is computed where rows are left as they are, but Halide takes it for something that the host does.
--
-- row, blocks    the loops over rows, and over what they are of        within    that of an element, if there is one
local function leave(out, row, blocks, within)
  out:split(row, 32, "guard", "block", "thread")
  local order = { "thread", "block", table.unpack(blocks) }
  if within then table.insert(order, 1, within) end
  out:reorder(table.unpack(order))
  out:gpu_blocks { "block", table.unpack(blocks) }:gpu_threads "thread":never_partition_all()
end

-- Has a block store a head of a token, and its scale.
local function store(to, o)
  grid.over_threads(to.stage, "i", o)
  to.stage:reorder("lane", "step", "chunk", "thread", "token", "head")
  to.stage:gpu_blocks { "token", "head" }:gpu_threads "thread"
  grid.in_registers(to.stage)
  if to.name == "q" then leave(to.out, "token", { "head" }, "i") else leave(to.out, "place", { "head", "page" }, "i") end
  if to.scales then
    to.scales:update(0):reorder("token", "head"):gpu_blocks { "token", "head" }
    leave(to.scales, "place", { "head", "page" })
  end
end

-- Has a warp take a head of a token from its projection: the norm by shuffles, the rotation in registers, the row to where it belongs.
--
--   for token: for head: sum of squares; for i: q; and so k and v
--     ->
--   blocks token, head
--     sum of squares, peak = part of all threads
--     threads thread: for chunk: unrolled step: q            -- vectors of neighbours
--     if it is one of theirs: k, k_scale, v, v_scale, likewise
function gpu.heads(k, p)
  local list = gpu.projections(k)
  for n, to in ipairs(list) do gpu.head(k, to, p, n > 1 and list[1].stage) end
end

-- The same of one of them, in the blocks of `with`, if that is a stage.
function gpu.head(k, to, p, with)
  local o = { at = { to.out, "token" }, threads = 32, vector = p.vector, unroll = p.unroll }
  store(to, o)
  if with then to.stage:compute_with(with, "token") end
  -- One head, the one that the block has: with two outputs Halide would make a range of theirs.
  local function statistic(value, sum, vector)
    for _, func in ipairs { value, sum } do func:bound_extent("head", 1):bound_extent("token", 1) end
    grid.each_thread(value, o)
    reduce.in_block(sum, "i", { at = o.at, threads = o.threads, vector = vector, unroll = p.vector // vector })
  end
  if k:has("sum_sq_" .. to.name) then statistic(k["inv_rms_" .. to.name], k["sum_sq_" .. to.name], p.vector) end
  if to.scales then
    to.scales:update(0):compute_with(to.stage, "token")
    -- Of neighbours that are turned Halide makes no vector that could be reduced.
    statistic(k["inv_scale_" .. to.name], k["peak_" .. to.name], k:has("swapped_neighbours_" .. to.name) and 1 or p.vector)
  end
end

-- The same with a kernel for each step.
function gpu.in_passes(k, to, p)
  local elements = { col = "i", rows = { "head", "token" }, threads = p.threads, unroll = p.unroll, vector = 1 }
  local function statistic(value, sum)
    reduce.rows(sum, "i", { rows = { "head", "token" }, threads = 32, vector = 1, unroll = 4 })
    elementwise.elements(value:compute_root(), { rows = { "head", "token" }, threads = p.threads })
  end
  if k:has("sum_sq_" .. to.name) then statistic(k["inv_rms_" .. to.name], k["sum_sq_" .. to.name]) end
  elementwise.vectors(k["head_" .. to.name]:compute_root(), elements)
  if to.scales then statistic(k["inv_scale_" .. to.name], k["peak_" .. to.name]) end
  store(to, { threads = 32, vector = 1, unroll = p.unroll })
end

return gpu
