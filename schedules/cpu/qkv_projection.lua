-- The three projections for AVX2, AVX-512 and AMX, weights packed into panels: each as in gemm.lua, with the bias added in
-- registers, and one parallel loop over the panels of all three. So threads are called once, and none waits before k and v.
-- By tiles there are few jobs: 300 rows by 384 + 128 + 128 columns are 3 + 1 + 1, which two threads do in three turns and not in four.

local gemm = require "lib.gemm"

return schedule "qkv_projection" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 64 },
  },

  params = {
    rows = tune { 0, 4, 6, 8, 12, default = 0 }, -- of the register tile, with 32 registers; 0: what suits the panel
    task = tune { 4, 8, 16, 32, default = 16 }, -- register tiles a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    for _, projection in ipairs { { k.q, k.acc_q }, { k.k, k.acc_k }, { k.v, k.acc_v } } do
      local out, acc = projection[1], projection[2]
      out:dim(0):set_min(0)
      gemm.register_tiles(out, acc, gemm.packed(target, k.x, k.x_f, {
        shared = true, m = out:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task,
      }))
    end
    k.q:side_by_side(k.k, k.v)
  end,
}
