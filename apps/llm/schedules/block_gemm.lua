-- A product of many rows with weights in blocks: a task makes a panel of columns f32 in L2, and then runs the register tiles of a GEMM
-- on it, for all rows of the task. A block of some columns is unpacked along k, and turned on its way into the panel.

local gemm = require "lib.gemm"

return schedule "block_gemm" {
  target = "cpu",

  params = {
    panel = tune { 16, 32, 48, 64, default = 32 },
    rows  = tune { 0, 4, 6, 8, 12, default = 0 },      -- of the register tile, with 32 registers; 0: what suits the panel
    task  = tune { 16, 32, 64, 128, 256, default = 128 }, -- register tiles a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    local tiles = gemm.packed(target, k.a, nil, {
      m = k.y:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task, tiles = "never",
    })
    k.y:dim(0):set_min(0)
    gemm.register_tiles(k.y, k.acc, tiles)

    local lanes = tiles.lanes
    k.b_f:compute_at(k.y, "job"):bound_extent("col", p.panel)
    local block, i = k.b_f:split("k", 32, "round_up", "block", "i")
    local vector, lane = k.b_f:split("col", lanes, "round_up", "vector", "lane")
    k.b_f:reorder(lane, i, vector, block):vectorize(lane)
    k.b_rows:compute_at(vector):store_in "stack":bound_extent("k", 32):bound_extent("col", lanes)
    k.b_rows:vectorize("k", 16)
    k.b_rows:unroll "k"
  end,
}
