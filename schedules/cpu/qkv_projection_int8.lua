-- The three projections in 8 bits, weights packed into panels: each as in gemm_int8.lua, with its scales and bias in registers, and
-- one parallel loop over the panels of all three, as in qkv_projection.lua. Where there is AMX, its tiles multiply.

local gemm = require "lib.gemm"

return schedule "qkv_projection_int8" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, default = 48 }, -- not 64: of groups in four vectors Halide gathers the last
  },

  params = {
    rows = tune { 4, 6, 8, 12, default = 8 },   -- of the register tile, with 32 registers
    task = tune { 4, 8, 16, 32, default = 16 }, -- register tiles a task
  },

  where = gemm.tile_fits,

  apply = function(k, p, target)
    for _, projection in ipairs { { k.q, k.acc_q }, { k.k, k.acc_k }, { k.v, k.acc_v } } do
      local out, acc = projection[1], projection[2]
      out:dim(0):set_min(0)
      gemm.register_tiles(out, acc, gemm.packed_int8(target, k.x:type() == "i8" and k.x_u, {
        shared = true, m = out:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task,
      }))
    end
    k.q:side_by_side(k.k, k.v)
  end,
}
