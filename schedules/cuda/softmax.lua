-- Softmax with a block a row, or several short ones: maximum, sum, output. The row comes from memory once and from L1 after that; the
-- exponentials are computed twice, which costs less than to keep them. Few long rows have many blocks each, and the maximum and the sum a
-- kernel each.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"
local reduce = require "lib.gpu_reduce"
local rows = require "lib.gpu_rows"

local params = { tiled = tune { false, true, default = false } } -- rows have several blocks
for name, choices in pairs(rows.params) do params[name] = choices end

-- Four kernels, whose blocks have tiles of a row.
local function in_tiles(k)
  local vector = grid.vector_of(k.x)
  local tile = { tile = 256 * vector, threads = 256, vector = vector, unroll = 1 }
  reduce.tiles(k.row_max, "col", tile)
  reduce.rows(k.row_max, "tile", { rows = { "row" }, threads = 32, vector = 1, unroll = 4 })
  reduce.tiles(k.row_sum, "col", tile)
  elementwise.vectors(k.y, { rows = { "row" }, threads = 256, lanes = 256, unroll = 1 })
  local o = { at = { k.y, "tile_col" }, threads = 256, vector = 1, unroll = 1 }
  reduce.in_block(k.row_sum, "tile", o)
  grid.each_thread(k:has "log_sum" and k.log_sum or k.inv_sum, o)
  k.y:stream()
end

return schedule "softmax" {
  target = "cuda",

  params = params,
  where = rows.params_fit,

  versions = function(k, p, target)
    if p.tiled then return { {} } end
    local versions = rows.versions(k.x, k.y, p, target, {})
    if p.threads == 0 and not p.invariant then
      local few = k.y:dim(1):extent():at_most(target.multiprocessors // 4)
      table.insert(versions, 1, { when = few:and_(k.x:dim(0):extent():above(32768)), tiled = true })
    end
    return versions
  end,

  apply = function(k, p)
    if p.tiled then
      in_tiles(k)
      return
    end
    local o = rows.options(k.y, p)
    rows.blocks(k.y, o)
    k.y:stream()
    rows.hold(k.x, o)
    reduce.in_block(k.row_max, "col", o)
    reduce.in_block(k.row_sum, "col", o)
    grid.each_thread(k:has "log_sum" and k.log_sum or k.inv_sum, o)
  end,
}
