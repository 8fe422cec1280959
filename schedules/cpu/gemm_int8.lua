-- GEMM in 8 bits with its epilogue, weights packed into panels: the tiles of gemm.lua with sums of 32 bits. Where the target has VNNI,
-- one instruction makes four products and adds them; elsewhere bytes are widened and multiplied one by one, at half the speed of f32.
-- Pairs of bytes 0 and 2, then 1 and 3, would suit vpmaddwd, but LLVM gathers them byte by byte.
-- A y of f32 larger than L2 costs some speed, as it has to be written out; an output of 8 bits costs less. Prefetches of a gain nothing,
-- nor do the panels of some rows one after the other in place of the rows of a panel. Where there is AMX, its tiles multiply.

local gemm = require "lib.gemm"

return schedule "gemm_int8" {
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
    gemm.register_tiles(k.y, k.acc, gemm.packed_int8(target, k.a:type() == "i8" and k.a_u, {
      m = k.y:dim(1):extent(), panel = p.panel, rows = p.rows, task = p.task,
    }))
  end,
}
