-- GEMM of 8-bit integers by AMX, weights packed into panels: see gemm.mma.
-- Rows of a block are copied to where the tile instructions read them, signed ones as unsigned.

local mma = require "lib.mma"

return schedule "gemm_int8" {
  target = "cpu",

  generator = { panel = tune { 32, 64, 96, default = 64 } },

  params = {
    task = tune { 2, 4, 8, 16, default = 4 }, -- blocks a task
  },

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    mma.blocks(k.y, k.acc, {
      lanes = target:lanes "f32",
      panel = p.panel,
      rows = 32,
      task = p.task,
      group = 4,
      stage_a = k.a:type() == "i8" and k.a_u,
    })
  end,
}
