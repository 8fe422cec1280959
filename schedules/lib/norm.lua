-- A norm whose factor is applied after a product.

local gemm = require "lib.gemm"
local rows = require "lib.rows"

local norm = {}

-- Computes 1 / rms of every row before the product: one float a row, from a read of x that leaves it
-- in cache.
--
--   for row: for col: y = acc / sqrt(mean(x^2))
--     ->
--   parallel row: inv_rms
--   for row: for col: y = acc * inv_rms
function norm.statistics(k, lanes)
  k.inv_rms:compute_root():parallel("row", 8, "guard")
  k.sum_sq:compute_at(k.inv_rms, "row"):update(0):atomic():vectorize("k", 4 * lanes, "guard")
end

-- The rows of a are f32, so that tile instructions have them only if the weights are too.
local function weigh(tiles, k)
  tiles.dot, tiles.stage_a = false, k.weighted
  if k.x:type() ~= "f32" then tiles.amx = nil end
  if tiles.amx then tiles.amx.stage_a = k.weighted end
end

-- The tiles of a product of k.weighted with packed weights. A weight of the norm that is not folded is multiplied
-- in a tile of rows at a time, which is then f32.
--
-- o        as for gemm.packed
function norm.tiles(k, target, o)
  local tiles = gemm.packed(target, k.x, k.weighted, o)
  if k:has "weight" then weigh(tiles, k) end
  return tiles
end

-- The same without fusion: x times the norm's weight goes to memory, as f32.
function norm.unfused_tiles(k, target, o)
  local tiles = gemm.packed(target, k.x, false, o)
  tiles.dot = false
  if k.x:type() ~= "f32" then tiles.amx = nil end
  rows.materialise({ k.weighted }, { row = "row", inner = "k", lanes = tiles.lanes, task = 8 })
  return tiles
end

return norm
