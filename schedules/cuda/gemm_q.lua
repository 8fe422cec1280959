-- A product of rows of 16 bits with weights of 4 and 8 bits in groups, on the tensor cores: a tile of weights is fetched as it lies in
-- memory, and becomes 16 bits in the registers of the warps that multiply it. Of up to eight rows warps share the depth, and nothing is
-- fetched ahead: more of them are under way then.

local gemm = require "lib.gpu_gemm"
local gemm_q = require "lib.gpu_gemm_q"
local grid = require "lib.gpu_grid"

-- Whether a block has the threads, two for a column in each group of warps, and the registers and shared memory: a step for each group, and
-- the sums of groups and blocks. There may be fewer steps ahead than asked for.
local function fits(p, target)
  if p.by_warps == 1 then return (p.rows == 8 or p.rows == 16) and p.columns <= 32 and p.cluster == 1 and p.warps == 1 end
  local depth = p.rows <= gemm.skinny and 128 or 64
  local slots = p.warps * depth * (2 * p.rows + p.columns)
  local parts = (p.warps - 1 + (p.cluster > 1 and 1 or 0)) * p.rows * p.columns * 4
  local threads = 2 * p.columns * p.warps + 128
  local room = slots + parts + 2 * p.rows * p.columns <= target.shared_bytes - 1024
  return p.warps <= p.stages and threads <= (p.rows > 64 and 512 or 1024) and room
end

return schedule "gemm_q" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    format = tune { "int4", "int8", default = "int4" },
    rounded = true,
    parts = 8, -- of the depth, by warps
  },

  params = {
    by_warps = tune { 0, 1, default = 0, search = false }, -- 1: a version of few rows
    rows    = tune { 0, 8, 16, 32, 64, 128, 256, default = 0 }, -- of a tile; 0: the sizes of a call decide
    columns = tune { 0, 16, 32, 64, 128, default = 0 },
    stages  = tune { 2, 3, 4, 6, 8, 12, default = 4 }, -- fetched ahead
    warps   = tune { 1, 2, 3, 4, default = 1 },     -- groups of warps that take turns with the steps of a tile: few rows
    cluster = tune { 1, 2, 4, default = 1 },        -- blocks that share them: long k
    raster  = tune { 4, 8, 16, default = 8 },       -- rows of tiles taken together
    turns   = tune { 1, 2, 3, 4, default = 2 },     -- by warps: 128 of the depth each that a warp loads together
    invariant = grid.invariant, -- a row's result is the same bits for any number of rows
  },

  where = function(p, target)
    if p.rows == 0 or p.columns == 0 then return gemm.sizes_decide(p, 4) and p.cluster == 1 and p.warps == 1 end
    return fits(p, target)
  end,

  versions = function(k, p, target)
    if p.rows > 0 then return { {} } end
    local size = { rows = k.a:dim(1):extent(), columns = k.y:dim(0):extent(), depth = k.a:dim(0):extent() }
    local versions = gemm.versions(size, target, { tiles = gemm.tiles_of_few_bits, invariant = p.invariant })
    if p.invariant then return versions end
    -- As many columns of a warp as leave each multiprocessor two blocks.
    local few = size.rows:at_most(8)
    if p.format == "int4" then
      local wide = size.columns:at_least(2 * 32 * target.multiprocessors)
      table.insert(versions, 1, { when = few:and_(wide), by_warps = 1, rows = 8, columns = 32 })
    end
    table.insert(versions, p.format == "int4" and 2 or 1, { when = few, by_warps = 1, rows = 8, columns = 16 })
    return versions
  end,

  apply = function(k, p)
    if p.by_warps == 1 then
      gemm_q.by_warps(k, p, { columns = p.columns, rows = p.rows, lies = true })
      k.y:resident(1) -- as many registers as it takes
      return
    end
    gemm.tensor_tiles(k.y, k.acc, p, { warps = p.warps, cluster = p.cluster })
  end,
}
