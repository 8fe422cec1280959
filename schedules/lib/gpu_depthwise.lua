-- Depthwise convolutions on a GPU.

local elementwise = require "lib.gpu_elementwise"
local grid = require "lib.gpu_grid"

local depthwise = {}

-- Sums the windows of a depthwise convolution in tiles of registers: a thread has some pixels by a vector of channels.
--
--   for n: for h: for w: for c: y = f(sum over r, s of x * weight)
--     ->
--   blocks, threads thread (of all tiles of all vectors of channels, those of one pixel side by side)
--     acc in registers = 0
--     for r: for s: acc += x * weight          -- rows x pixels vectors
--     y tile = f(acc)
--
-- y        a Func over [c, w, h, n]        vector     channels of a thread
-- pixels, rows    of a thread's tile       threads    of a block
-- column, row    the loops over the columns and rows of a window, "tap_x" and "tap_y" by default
--
-- A tile that sticks out of y is moved back into it; a y smaller than a tile is computed pixel by pixel.
--
-- For each row of a window a thread keeps the pixels that its windows share, as it multiplies them: it takes far longer to load and
-- convert them for each tap. The taps of a row are unrolled. The rows are not, since a thread would need too many registers.
function depthwise.register_tiles(k, y, o)
  local function tile(stage, vector, pixels, rows)
    local function tail(size) return size > 1 and "shift_inwards" or "auto" end
    stage:split("c", vector, tail(vector), "vector", "lane")
    stage:split("w", pixels, tail(pixels), "tile", "pixel")
    stage:split("h", rows, tail(rows), "strip", "line")
    stage:reorder("lane", "pixel", "line", "vector", "tile", "strip", "n")
    stage:split(grid.fuse(stage, { "vector", "tile", "strip", "n" }), o.threads, "guard", "tiles", "thread")
    stage:gpu_blocks("tiles"):gpu_threads("thread")
    stage:vectorize("lane"):unroll("pixel"):unroll("line"):never_partition_all()
  end
  local function size(d) return k.y:dim(d):extent() end
  local function whole() return size(0):at_least(o.vector):and_(size(1):at_least(o.pixels)):and_(size(2):at_least(o.rows)) end
  tile(y:specialize(whole()), o.vector, o.pixels, o.rows)
  tile(y, 1, 1, 1)

  k.acc:compute_at(y, "thread"):store_in "register"
  local column, row = o.column or "tap_x", o.row or "tap_y"
  k.acc:update(0):reorder("c", "w", "h", column, row)
  if k:has "x_near" then
    k.x_near:compute_at(k.acc, row):store_in "register":vectorize("c", o.vector, "guard"):unroll("w"):unroll("h"):never_partition_all()
    k.acc:update(0):unroll(column)
  end
  for _, stage in ipairs { k.acc, k.acc:update(0) } do
    stage:vectorize("c", o.vector, "guard"):unroll("w"):unroll("h"):never_partition_all()
  end
end

-- Computes what the zero point of a depthwise convolution makes of each channel, where it has one, in a small kernel.
function depthwise.sums_of_channels(k, threads)
  if not k:has "zero_sum" then return end
  local sums = k.zero_sum:in_():compute_root()
  elementwise.elements(sums, { rows = { "c" }, threads = threads })
  k.zero_sum:compute_at(sums, "thread"):store_in "register":bound_extent("c", 1)
end

return depthwise
