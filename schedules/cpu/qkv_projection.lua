-- The three projections for AVX2 and AVX-512, weights packed into panels: one after the other, each as in
-- gemm.lua, with the bias added in registers.

local gemm = require "lib.gemm"

return schedule "qkv_projection" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
  },

  params = {
    rows = tune { 4, 6, 8, 12, default = 8 },   -- of the register tile, with 32 registers
    task = tune { 4, 8, 16, 32, default = 16 }, -- register tiles a task
  },

  where = function(p, target)
    local lanes = target:lanes "f32"
    return target.vector_registers < 32 or p.rows * p.panel // lanes < 30
  end,

  apply = function(k, p, target)
    for _, projection in ipairs { { k.q, k.acc_q }, { k.k, k.acc_k }, { k.v, k.acc_v } } do
      local out, acc = projection[1], projection[2]
      out:dim(0):set_min(0)
      gemm.register_tiles(out, acc, gemm.packed(target, k.x, k.x_f, {
        shared = true, m = out:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task,
      }))
    end
  end,
}
