-- GEMM with its epilogue for AVX2 and AVX-512, weights as they are written: k x n, row-major.
-- Each task copies the panel of weights that it needs into L2, and then runs the register tiles of
-- gemm.lua on it: as f32, or as pairs of bf16 where the target multiplies those. Many rows pay for the
-- copy. A few do not, and want packed weights or gemm.nk.lua. Where there is AMX, a task copies several panels as they lie in
-- packed weights, and each block of 32 rows meets all of them, so that parts of f32 are made once for all (runtime/mma_f32.h).

local gemm = require "lib.gemm"

return schedule "gemm" {
  target = "cpu",

  generator = {
    weights = "kn",
    in_panels = true,
    panel = tune { 32, 48, 64, default = 64 },
  },

  params = {
    rows  = tune { 0, 4, 6, 8, 12, default = 0 }, -- of the register tile, with 32 registers; 0: what suits the panel
    -- Register tiles a task. Each task copies its panel, so that large tasks copy less; small ones give more threads something to do.
    task  = tune { 32, 64, 128, 256, default = 256 },
    blocks = tune { 8, 16, 32, 64, default = 32 },  -- with tile instructions: of 32 rows a task
    panels = tune { 1, 2, 4, 8, 16, default = 4 },  -- and panels a task
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.a, nil, {
      m = k.y:dim(1):extent(),
      panel = p.panel,
      rows = p.rows,
      task = p.task,
      tiles = k:has "a_tf32" and "never" or p.tiles,
    })
    local amx, lanes = tiles.amx, tiles.lanes
    if amx then amx.task, amx.panels, amx.inner = p.blocks, p.panels, "panels" end
    k.y:dim(0):set_min(0)
    gemm.register_tiles(k.y, k.acc, tiles)

    -- The copy takes a vector of columns at a time, of which only the last sticks out of b, and 64 rows of each, as every row of a wide b
    -- is a page of its own. Pairs of bf16 come from whole lines where those divide a panel.
    local grouped = tiles.dot or amx
    local copy = grouped and k.b_groups or k.b_f
    copy:compute_at(k.y, "job"):bound_extent("col", p.panel)
    local width = grouped and tiles.group > 1 and p.panel % (2 * lanes) == 0 and 2 * lanes or lanes
    local vector, lane = copy:split("col", width, "round_up", "vector", "lane")
    local block, step = copy:split("k", 64, "guard", "block", "step")
    copy:reorder(lane, step, vector, block):vectorize(lane)
    if grouped then copy:bound("member", 0, tiles.group):reorder("member", lane, step):unroll "member" end
  end,
}
