-- A matrix product of numbers of 8 bits on the tensor cores, weights transposed (n x k), as torch.nn.Linear has them: a block keeps a tile
-- of sums in registers, and applies scales, bias, activation and residual to it there. Where scales belong to blocks of k, the sums of
-- a block are scaled before they are added to those of others.

local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"

return schedule "gemm_fp8" {
  target = "cuda",

  params = {
    rows    = tune { 0, 16, 32, 64, 128, 192, default = 0 }, -- of a tile; 0: the sizes of a call decide
    columns = tune { 0, 32, 64, 128, 192, 256, default = 0 },
    stages  = tune { 2, 3, 4, 5, 6, 8, default = 3 }, -- fetched ahead; a stage takes 128 (rows + columns) bytes
    raster  = tune { 4, 8, 16, default = 16 },     -- rows of tiles taken together
    cluster = tune { 1, 2, 4, 8, default = 1 },    -- blocks that share the steps of a tile: few rows, long k
    invariant = grid.invariant, -- a row's result is the same bits for any number of rows
  },

  where = function(p, target)
    if p.rows == 0 or p.columns == 0 then return gemm.sizes_decide(p, 3) and p.cluster == 1 end
    if p.rows <= gemm.skinny and p.cluster > 1 then return false end
    -- Shared memory: the stages, and a part of the tile on its way out.
    return gemm.tiles_fit(p, target, { products = 1 })
  end,

  versions = function(k, p, target)
    if p.rows > 0 then return { {} } end
    local size = { rows = k.a:dim(1):extent(), columns = k.b_nk:dim(1):extent(), depth = k.a:dim(0):extent() }
    return gemm.versions(size, target, {
      operand_bytes = 1, tiles = k:has "of_block" and gemm.tiles_of_float8_blocks or gemm.tiles_of_float8,
      invariant = p.invariant,
    })
  end,

  apply = function(k, p)
    gemm.float8_tiles(k, k.y, p, { cluster = p.cluster })
  end,
}
