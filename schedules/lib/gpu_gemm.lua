-- Matrix products on the tensor cores. gpu_tiles.lua has products without them.

local elementwise = require "lib.gpu_elementwise"

local gemm = {}

-- Tiles of up to so many rows are for skinny products, in which only the other matrix takes time to read. The warps of a block then
-- share the depth of a step, which is twice that of other tiles, and add up their sums at the end.
gemm.skinny = 32

-- Whether the shared memory of a block has room for the stages of tensor_tiles(), each of which takes 128 bytes of a row or
-- column, and for a part of the tile on its way out, at least 128 bytes a row. For `where`.
--
-- p       rows, columns, stages        products  that share the rows        ping_pong   as tensor_tiles() takes it
function gemm.tiles_fit(p, target, o)
  local room = target.shared_bytes - 1024 -- which barriers may take
  if p.rows <= gemm.skinny then
    local part = p.rows * (p.columns + 8) * 4 * 8 -- the sums of 8 warps, in place of the stages in the end
    return p.rows * p.columns * o.products <= 4096 and o.products * part <= room and
      p.stages * 256 * (p.rows + o.products * p.columns) <= room
  end
  if o.ping_pong and p.rows ~= 64 then return false end
  local rows_of_results = o.ping_pong and 128 or p.rows
  return p.stages * 128 * (p.rows + o.products * p.columns) + 128 * rows_of_results <= room
end

-- The tiles among which a call chooses. A product takes `start` ns, and for each round of blocks `fill` ns and `step` ns for each 128 bytes
-- of a row. Measured on an H200 at 498 sizes of bfloat16 (docs/notes/2026-11-gemm-versions.md).
local tiles = {
  { rows = 16,  columns = 32,  stages = 8, start = 2280, fill = 460,  step = 62 },
  { rows = 16,  columns = 64,  stages = 6, start = 1350, fill = 1280, step = 104, often = true },
  { rows = 32,  columns = 64,  stages = 6, start = 1360, fill = 1800, step = 116, often = true },
  { rows = 64,  columns = 64,  stages = 8, start = 2670, fill = 580,  step = 177, often = true },
  { rows = 64,  columns = 64,  stages = 6, start = 2490, fill = 2930, step = 260, cluster = 8 }, -- few columns, long k
  { rows = 64,  columns = 128, stages = 6, start = 2620, fill = 890,  step = 223, often = true },
  { rows = 64,  columns = 192, stages = 5, start = 2440, fill = 1250, step = 282 },
  { rows = 128, columns = 128, stages = 5, start = 2330, fill = 1760, step = 324 },
  { rows = 128, columns = 192, stages = 4, start = 2060, fill = 2310, step = 459, often = true },
  { rows = 128, columns = 256, stages = 4, start = 1350, fill = 3510, step = 602, often = true },
}

-- The same of two products of the same rows, each of which has half of the columns of a tile. Those of 64 rows and more have not been
-- measured apart: they have the costs of one product.
local tiles_of_two = {
  { rows = 16,  columns = 64,  stages = 5, start = 1350, fill = 1280, step = 109 },
  { rows = 32,  columns = 64,  stages = 6, start = 1360, fill = 1800, step = 116 },
  { rows = 64,  columns = 128, stages = 6, start = 2620, fill = 890,  step = 223 },
  { rows = 64,  columns = 192, stages = 5, start = 2440, fill = 1250, step = 282 },
  { rows = 128, columns = 128, stages = 5, start = 2330, fill = 1760, step = 324 },
  { rows = 128, columns = 192, stages = 4, start = 2060, fill = 2310, step = 459 },
  { rows = 128, columns = 256, stages = 4, start = 1350, fill = 3510, step = 602 },
}

-- Of a product whose columns are weights of 4 or 8 bits, with groups of warps that share the steps of a tile. Measured on an H200 at 48
-- sizes, weights of 4 bits (docs/notes/2026-11-decoder.md).
gemm.tiles_of_few_bits = {
  { rows = 16,  columns = 32,  stages = 8,  warps = 4, cluster = 1, fill = 730,  step = 83 },
  { rows = 16,  columns = 64,  stages = 12, warps = 3, cluster = 2, fill = 2390, step = 142 },
  { rows = 32,  columns = 128, stages = 6,  warps = 2, cluster = 1, fill = 1540, step = 246 },
  { rows = 64,  columns = 64,  stages = 12, warps = 2, cluster = 1, fill = 1180, step = 192 },
  { rows = 64,  columns = 64,  stages = 8,  warps = 2, cluster = 2, fill = 2640, step = 228 },
  { rows = 128, columns = 64,  stages = 6,  warps = 2, cluster = 1, fill = 760,  step = 269 },
  { rows = 128, columns = 64,  stages = 8,  warps = 2, cluster = 2, fill = 3000, step = 298 },
  { rows = 128, columns = 128, stages = 6,  warps = 1, cluster = 1, fill = 320,  step = 457 },
  { rows = 256, columns = 64,  stages = 4,  warps = 1, cluster = 1, fill = 0,    step = 438 },
  { rows = 256, columns = 128, stages = 3,  warps = 1, cluster = 1, fill = 0,    step = 692 },
}

-- Of numbers of 8 bits, of which a thread has the sums of a step apart. Measured on an H200 at 9 sizes (docs/notes/2026-11-float8.md).
gemm.tiles_of_float8 = {
  { rows = 16,  columns = 32,  stages = 8, start = 2300, fill = 460,  step = 90 },
  { rows = 16,  columns = 64,  stages = 6, start = 1350, fill = 1280, step = 165 },
  { rows = 32,  columns = 64,  stages = 6, start = 1360, fill = 1800, step = 285 },
  { rows = 64,  columns = 64,  stages = 8, start = 2700, fill = 580,  step = 230 },
  { rows = 64,  columns = 128, stages = 6, start = 2600, fill = 890,  step = 300 },
  { rows = 128, columns = 128, stages = 6, start = 2300, fill = 900,  step = 395 },
  { rows = 128, columns = 192, stages = 5, start = 1850, fill = 940,  step = 555 },
}

-- The same where blocks of k and of columns have scales: each tile lies in one block of columns.
gemm.tiles_of_float8_blocks = {
  { rows = 64,  columns = 64,  stages = 8, start = 2700, fill = 990,  step = 309 },
  { rows = 64,  columns = 128, stages = 6, start = 2600, fill = 890,  step = 330 },
  { rows = 128, columns = 128, stages = 4, start = 2300, fill = 900,  step = 455 },
}

local function divided(n, by) return (n + (by - 1)) // by end
gemm.divided = divided -- rounded up

-- The tile of one product whose costs are those of so many rows and columns, or next to them; the other way round costs the same.
function gemm.tile_of(rows, columns)
  local best, distance
  for _, t in ipairs(tiles) do
    local apart = math.abs(math.min(t.rows, t.columns) - math.min(rows, columns)) +
      math.abs(math.max(t.rows, t.columns) - math.max(rows, columns))
    if not t.cluster and (not best or apart < distance) then best, distance = t, apart end
  end
  return best
end

-- Nanoseconds of so many blocks, each with so many steps of 128 bytes, in tiles `t`.
function gemm.nanoseconds(t, blocks, steps, target)
  return divided(blocks, target.multiprocessors) * (steps * t.step + t.fill) + (t.start or 0)
end

-- Blocks that share a tile.
local function cluster_of(t) return t.cluster or 1 end

-- As many stages as shared memory has room for, up to those of the tile.
local function stages_of(t, target, products)
  local p = { rows = t.rows, columns = t.columns // products, stages = t.stages }
  while p.stages > 2 and not t.warps and not gemm.tiles_fit(p, target, { products = products }) do p.stages = p.stages - 1 end
  return p.stages
end

-- Whether rows of a matrix begin where the copy engine can take them. Views with another pitch, and matrices with an odd number of columns,
-- do not.
local function is_aligned(x) return x:dim(1):stride():multiple_of(8) end

-- Nanoseconds that a product takes in tiles `t`. Of few rows only skinny tiles read the other matrix as fast as memory has it, which no
-- time of a step says.
local function cost_of(t, size, target, more)
  local products, depth = more.products or 1, 128 // (more.operand_bytes or 2)
  local across
  for _, columns in ipairs(type(size.columns) == "table" and size.columns or { size.columns }) do
    local tiles_across = divided(columns, t.columns // products)
    across = across and across + tiles_across or tiles_across
  end
  local cluster = cluster_of(t)
  local ns = gemm.nanoseconds(t, divided(size.rows, t.rows) * across * cluster, divided(size.depth, depth * cluster), target)
  if t.warps or t.rows <= gemm.skinny or cluster > 1 then return ns end
  return ns + size.rows:at_most(gemm.skinny):select(1000000000, 0)
end

-- Whether tiles add up a row's products in one order: no block has a part of the depth, and no warp, or each of two groups has every second
-- step.
local function sums_alike(t)
  if t.warps then return cluster_of(t) == 1 and t.warps == 2 end
  return cluster_of(t) == 1 and t.rows > gemm.skinny
end

-- The versions of one way to read the matrices. `suits`: of which tiles.
local function tile_versions(size, target, more, suits, condition)
  local versions = {}
  for _, t in ipairs(more.tiles or more.products == 2 and tiles_of_two or tiles) do
    if suits(t) then
      local products = more.products or 1
      table.insert(versions, {
        rows = t.rows, columns = t.columns // products, stages = stages_of(t, target, products), warps = t.warps, cluster = t.cluster,
        when = condition, cost = cost_of(t, size, target, more),
      })
    end
  end
  return versions
end

-- The versions of a product: a call takes the tiles that are done first. All multiprocessors have a block at a time, so a product takes as
-- many rounds as its blocks are times the multiprocessors: few rows or columns want small tiles, so that all have one, or, where the depth
-- is long, blocks that share a tile's depth; many want large tiles, which read less for each product.
--
-- size    rows, columns and depth of the product, as expressions; several columns for several products, whose blocks run together
-- more    products: that share the rows (1), of so many columns each         operand_bytes: of an element (2)
--         in_one_block: no blocks share a tile                               often: only those that are taken most often
--         repacked: the matrices that repack() takes, for versions that do
--         tiles: to choose among, as tiles_of_few_bits
--         invariant: only tiles by which a row's result is the same bits for any number of rows
function gemm.versions(size, target, more)
  local versions = {}
  local function suits(t)
    return (cluster_of(t) == 1 or not more.in_one_block) and (t.often or not more.often) and (sums_alike(t) or not more.invariant)
  end
  if more.repacked then
    local aligned
    for _, x in ipairs(more.repacked) do aligned = aligned and aligned:and_(is_aligned(x)) or is_aligned(x) end
    versions = tile_versions(size, target, more, function(t) return t.often and suits(t) end, aligned:not_())
    for _, v in ipairs(versions) do v.repack = true end
  end
  for _, v in ipairs(tile_versions(size, target, more, suits)) do table.insert(versions, v) end
  return versions
end

-- Tiles of two products that share the rows, and of the product of what comes of them.
local chains = {
  { tiles_of_two[1], tiles[1] }, -- 16 rows
  { tiles_of_two[2], tiles[3] }, -- 32
  { tiles_of_two[3], tiles[4] }, -- 64
  { tiles_of_two[6], tiles[8] }, -- 128
  { tiles_of_two[7], tiles[10] }, -- 128, of many columns
}

-- What schedules of a chain leave open, with the usual stages: two products that share the rows, then one of what comes of them.
function gemm.chain_params()
  return {
    rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile of gate and up; 0: the sizes of a call decide
    columns = tune { 0, 16, 32, 64, 96, 128, default = 0 },  -- of each of the two
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 },
    cluster = tune { 1, 2, 4, 8, default = 1 },              -- blocks that share the steps of a tile
    back_rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile of the product back; 0: as many
    back         = tune { 0, 16, 32, 64, 128, 192, 256, default = 0 }, -- its columns
    back_stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 },
    back_cluster = tune { 1, 2, 4, 8, default = 1 },
    raster  = tune { 4, 8, 16, default = 16 },
    threads = tune { 64, 128, 256, default = 128 },          -- that go over a row
  }
end

-- The tiles of the product back.
function gemm.back_of_chain(p)
  return { rows = p.back_rows > 0 and p.back_rows or p.rows, columns = p.back, stages = p.back_stages, raster = p.raster }
end

-- Whether all tiles are given and fit, or none is. For `where`.
function gemm.chain_fits(p, target)
  local back = gemm.back_of_chain(p)
  if p.rows == 0 or p.columns == 0 or p.back == 0 then
    return gemm.sizes_decide(p, 3) and gemm.sizes_decide(back, 3) and p.cluster == 1 and p.back_cluster == 1
  end
  if (p.rows <= gemm.skinny and p.cluster > 1) or (back.rows <= gemm.skinny and p.back_cluster > 1) then return false end
  return gemm.tiles_fit(p, target, { products = 2 }) and gemm.tiles_fit(back, target, { products = 1 })
end

-- The versions of a feed-forward block: two products that share the rows of k.x, then one of what comes of them. The tiles of the latter
-- are back_rows, back columns and back_stages.
--
-- k       with buffers x, w_up_nk and w_down_nk
-- more    invariant, operand_bytes: as of versions()
function gemm.chain_versions(k, target, more)
  local hidden = k.w_up_nk:dim(1):extent()
  local size = { rows = k.x:dim(1):extent(), columns = hidden, depth = k.x:dim(0):extent() }
  local size_back = { rows = size.rows, columns = k.w_down_nk:dim(1):extent(), depth = hidden }
  local versions = {}
  for _, c in ipairs(chains) do
    local t, back = c[1], c[2]
    if not more.invariant or sums_alike(t) and sums_alike(back) then
      table.insert(versions, {
        rows = t.rows, columns = t.columns // 2, stages = stages_of(t, target, 2),
        back_rows = back.rows, back = back.columns, back_stages = stages_of(back, target, 1),
        cost = cost_of(t, size, target, { products = 2, operand_bytes = more.operand_bytes }) +
          cost_of(back, size_back, target, { operand_bytes = more.operand_bytes }),
      })
    end
  end
  return versions
end

-- Copies a matrix whose rows begin anywhere, so that they begin where the copy engine can take them. A product that reads it so, element by
-- element, takes ten times as long.
function gemm.repack(x)
  local copy = x:in_()
  copy:compute_root():align_storage("_0", 8)
  copy:bound("_0", x:dim(0):min(), x:dim(0):extent()):bound("_1", x:dim(1):min(), x:dim(1):extent())
  copy:split("_0", 2048, "guard", "block", "rest")
  copy:split("rest", 256, "guard", "step", "thread")
  copy:reorder("step", "thread", "block", "_1"):unroll "step"
  copy:gpu_blocks({ "block", "_1" }):gpu_threads "thread"
end

-- What versions set, the caller does not: for `where`. `stages` is the default.
function gemm.sizes_decide(p, stages)
  return p.rows == 0 and p.columns == 0 and p.stages == stages
end

-- Has the tensor cores compute a tile of a product in a block, which applies what follows the product to its sums.
--
--   for row: for col: y = f(sum over k of a * b)
--     ->
--   blocks tile
--     acc = 0, in registers
--     for step: fetch tiles of a and b | acc += a * b             -- a warp fetches `stages` steps ahead
--     y = f(acc)
--
-- y       a Func over [col, row]       acc       the Func that sums over "k", or several that read the same a
-- rows    of a tile: 64, 128 or 192    columns   a multiple of 64, up to 256 for all products together
--         16 or 32: few rows           columns   a multiple of 16; 32 or a multiple of 64 where they are neighbours in memory
-- stages  of the pipeline              raster    rows of tiles that blocks take together
-- more    cluster, warps: blocks, and groups of warps, that share the steps of a tile (1, 1)
--         operand_bytes: of an element of a and b; 4 for float32 that is cut to TF32 (1 where sums are integers, else 2)
--         ping_pong: two warpgroups have a tile of 64 rows each, and take turns to multiply (sm_90a)
--         col: the loop over columns ("col")
function gemm.tensor_tiles(y, acc, o, more)
  more = more or {}
  gemm.blocks_of_tiles(y, o, more)
  for _, sum in ipairs(type(acc) == "table" and acc or { acc }) do
    gemm.tensor_sums(sum, { y, "tile_col" }, o, more)
    if more.cluster then sum:update(0):split_k_cluster(more.cluster) end
    if more.warps then sum:update(0):split_k_warps(more.warps) end
  end
end

-- A block for each tile of a stage.
function gemm.blocks_of_tiles(stage, o, more)
  stage:split(more.col or "col", o.columns, "guard", "tile_col", "col_in_tile")
  stage:split("row", o.rows, "guard", "tile_row", "row_in_tile")
  stage:reorder("col_in_tile", "row_in_tile", "tile_col", "tile_row")
  stage:gpu_blocks { "tile_col", "tile_row" }
  stage:never_partition_all()
end

-- Has the tensor cores sum a tile of a product over "k", for what a block makes of it at a loop.
--
-- sum     a Func over [col, row, others]        at      the Func and the loop
-- o       rows, columns, stages and raster, as above
-- more    col, ping_pong, operand_bytes: as above    row: the loop over rows ("row")    others: dimensions of which a block has one
function gemm.tensor_sums(sum, at, o, more)
  local col, row, others = more.col or "col", more.row or "row", more.others or {}
  sum:compute_at(at[1], at[2]):store_in "register"
  sum:bound_extent(col, o.columns):bound_extent(row, o.rows):never_partition_all()
  for _, dim in ipairs(others) do sum:bound_extent(dim, 1) end
  sum:reorder_storage(col, row, table.unpack(others)):reorder(col, row, table.unpack(others))
  local step = sum:update(0)
  local depth = 128 // (more.operand_bytes or (sum:type() == "i32" and 1 or 2))
  step:split("k", type(o.rows) == "number" and o.rows <= gemm.skinny and 2 * depth or depth, "guard", "step", "depth")
  local order = { "depth", col, row, table.unpack(others) }
  table.insert(order, "step")
  step:reorder(table.unpack(order)):never_partition_all()
  step:mma():pipeline(o.stages, o.raster, more.ping_pong)
end

-- The same of numbers of 8 bits (generators/gemm_fp8.cpp). Where blocks of 128 of k have scales, `k.of_block` is the sum of one, which is
-- scaled before it is added to those of others.
--
-- y, o, more    as for tensor_tiles; y reads k.acc
function gemm.float8_tiles(k, y, o, more)
  more.operand_bytes = 1
  if not k:has "of_block" then return gemm.tensor_tiles(y, k.acc, o, more) end
  gemm.blocks_of_tiles(y, o, more)
  k.acc:compute_at(y, "tile_col")
  k.of_block:compute_at(k.acc, "block"):bound_extent("block", 1)
  for _, sum in ipairs { k.acc, k.of_block } do
    sum:store_in "register":bound_extent("col", o.columns):bound_extent("row", o.rows):never_partition_all()
    sum:update(0):reorder("col", "row", "block"):never_partition_all()
  end
  k.of_block:update(0):reorder("k", "col", "row", "block"):mma():pipeline(o.stages, o.raster)
end

-- A product without fusion: sums, scale and bias, the activation and the result, each a kernel of its own. `p` as of tensor_tiles(), with
-- threads and unroll of the others.
function gemm.unfused(k, p)
  gemm.tensor_tiles(k.acc:in_():compute_root(), k.acc, p)
  gemm.unfused_epilogue(k, p)
end

-- What follows the sums.
function gemm.unfused_epilogue(k, p)
  local o = { rows = { "row" }, threads = p.threads, unroll = p.unroll }
  for _, step in ipairs { k.linear, k.activated } do elementwise.vectors(step:compute_root(), o) end
  elementwise.vectors(k.y, o)
end

return gemm
