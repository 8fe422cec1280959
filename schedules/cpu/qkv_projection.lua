-- The three projections for AVX2 and AVX-512, weights packed into panels: one after the other, each as in
-- gemm.lua, with the bias added in registers. compute_with takes no specialised stages, and one loop over all
-- their panels would gain little: 256 x (1024 + 256 + 256) x 1024 takes 7.8 ms, one product of as many panels 7.6,
-- bf16 3.8 and 3.7 (Zen 4). The panels that are not full cost more, 2 of 34: 64 columns leave none of them,
-- 7.4 ms in f32.

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
  end,
}
