-- GEMM of bf16 by AMX, weights packed into panels.
-- A block of 32 rows x panel is a row of two-by-two result tiles. One call runs over all of k
-- for it, while the panel of weights stays in L2; the epilogue reads the block from L1.
-- Where the processor has no AMX this is slow: take the schedule gemm.

local mma = require "lib.mma"

return schedule "gemm" {
  target = "cpu",

  generator = {
    type = "bfloat16",
    weights = "packed",
    panel = tune { 32, 64, 96, default = 64 },
  },

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
      group = 2,
    })
  end,
}
