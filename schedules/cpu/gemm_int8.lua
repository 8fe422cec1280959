-- GEMM in 8 bits with its epilogue, weights packed into panels: the tiles of gemm.lua with sums of
-- 32 bits. Four products and their sum are one instruction where the target has VNNI (424 GFLOP/s a
-- core, 90 % of four times the f32 peak of a Zen 4); elsewhere bytes are widened and multiplied one by one,
-- at half the speed of f32. Pairs of bytes 0 and 2, then 1 and 3, would suit vpmaddwd, but LLVM gathers
-- them byte by byte (3 ms in place of 0.6).
-- Of 1024 columns, 1024 deep, 128 rows run at 94 % of that peak, 512 at 88, 1024 at 86: a y of f32 larger than L2
-- has to be written out, with 8 bits of output 1024 rows run at 3 % more. Reading a ahead, or the panels of
-- some rows one after the other in place of the rows of a panel, made it no faster. Where there is AMX, its tiles multiply.

local gemm = require "lib.gemm"

return schedule "gemm_int8" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, default = 48 }, -- of groups in four vectors Halide gathers the last
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
