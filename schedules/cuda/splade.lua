-- The SPLADE head on the tensor cores: the vocabulary are the rows of the product, and a block of positions its columns, so
-- that a block sums a tile of words in registers, and only the largest of each is stored. A second kernel has the
-- largest over the blocks of positions, bias and logarithm.

local elementwise = require "lib.gpu_elementwise"
local gemm = require "lib.gpu_gemm"
local grid = require "lib.gpu_grid"
local logits = require "lib.gpu_logits"

return schedule "splade" {
  target = "cuda",

  generator = {
    type = tune { "float16", "bfloat16", default = "bfloat16" },
    weights = "nk",
    block = -1, -- as many as columns
  },

  params = {
    rows    = tune { 64, 128, 192, default = 192 },    -- words of a tile; with 256 columns 128 at most
    columns = tune { 0, 64, 128, 256, default = 0 },   -- positions of a tile; 0: with rows, what a call's sizes are best off with
    stages  = tune { 2, 3, 4, 5, 6, default = 5 },     -- fetched ahead; a stage takes 128 (rows + columns) bytes
    raster  = tune { 4, 8, 16, default = 4 },          -- rows of tiles taken together
    ping_pong = tune { false, true, default = false }, -- with 64 rows: one half of a block multiplies while the other finishes its tile
    threads = tune { 128, 256, default = 128 },
  },

  where = function(p, target)
    return logits.tiles_fit({ rows = p.rows, panel = math.max(p.columns, 64), stages = p.stages, ping_pong = p.ping_pong }, target)
  end,

  versions = function(k, p)
    if p.columns > 0 then return { {} } end
    return { { when = k.positions:at_most(64), columns = 64 }, { columns = 128 } }
  end,

  apply = function(k, p)
    local largest = k.top:update(0):rfactor("r_y", { "s" })
    local stored = largest:in_():compute_root()
    stored:split("col", p.rows, "guard", "tile_col", "in_col")
    stored:reorder("in_col", "s", "n", "tile_col")
    stored:gpu_blocks { grid.fuse(stored, { "s", "n" }), "tile_col" }:never_partition_all()

    gemm.tensor_sums(k.acc, { stored, "s_n" }, { rows = p.rows, columns = p.columns, stages = p.stages, raster = p.raster },
      { row = "col", col = "i", others = { "s", "n" }, ping_pong = p.ping_pong })
    grid.each_thread(largest, { at = { stored, "s_n" } })
    largest:bound_extent("col", p.rows):bound_extent("s", 1):bound_extent("n", 1):never_partition_all()
    largest:update(0):reorder("r", "col", "s", "n"):never_partition_all()

    elementwise.elements(k.y, { rows = { "col", "n" }, threads = p.threads })
    grid.each_thread(k.top:bound_extent("col", 1):bound_extent("n", 1), { at = { k.y, "thread" } })
  end,
}
