-- GEMM with its epilogue for AVX2 and AVX-512, weights as they are written: k x n, row-major.
-- Each task copies the panel of weights that it needs into L2, as f32, and then runs the register
-- tiles of gemm.lua on it. The copy costs about one part in the rows of a task: many rows pay
-- for it, a few do not, and those want packed weights or gemm.nk.lua.

local gemm = require "lib.gemm"

return schedule "gemm" {
  target = "cpu",

  generator = { weights = "kn" },

  params = {
    panel = tune { 32, 48, 64, default = 48 },
    rows  = tune { 4, 6, 8, 12, default = 8 },   -- of the register tile, with 32 registers
    task  = tune { 8, 16, 32, 64, default = 32 }, -- register tiles a task
  },

  where = function(p, target)
    local lanes = target:lanes "f32"
    return target.vector_registers < 32 or p.rows * p.panel // lanes < 30
  end,

  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    local wide = target.vector_registers >= 32
    k.y:dim(0):set_min(0)
    gemm.register_tiles(k.y, k.acc, {
      m = k.y:dim(1):extent(),
      lanes = lanes,
      panel = p.panel,
      columns = wide and p.panel or p.panel // 2,
      rows = wide and p.rows or 4,
      task = p.task,
    })

    -- A vector of columns at a time, down all of k: only the last one sticks out of b.
    local panel = k.b_f:compute_at(k.y, "job"):bound_extent("col", p.panel)
    local vector, lane = panel:split("col", lanes, "round_up", "vector", "lane")
    panel:reorder(lane, "k", vector):vectorize(lane)
  end,
}
