-- SwiGLU in 8 bits, weights packed into panels: the tiles of gemm_int8.lua for both products, one after the other in
-- registers as in swiglu.lua, then their scales, the activation and the product of the two. Where there is AMX, its tiles
-- multiply.

local gemm = require "lib.gemm"

return schedule "swiglu_int8" {
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
    k.y:dim(0):set_min(0)
    gemm.register_tiles(k.y, { k.gate, k.up }, gemm.packed_int8(target, k.x:type() == "i8" and k.x_u, {
      m = k.y:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task, products = 2,
    }))
  end,
}
