-- GEMM of bf16 by AMX, weights packed into panels; where there is none, by vectors as in gemm.lua, so that
-- one library serves both: --target avx512_sapphirerapids,avx512_zen5,avx512_avxvnni,avx512_zen4,avx512,avx2.
-- A block of 32 rows x panel is a row of two-by-three result tiles, of 64 columns of two-by-two ones: a panel of 64 is
-- 3 % quicker in tiles, but more than three vectors of pairs are slow without (lib/gemm.lua). One call runs over all of k
-- for it, while the rows of a task stay in L2; the epilogue reads the block from L1. 1024 cubed, panels of 64, on an Emerald
-- Rapids: 2.68 ms with 8 blocks a task, 2.45 with 16; 5 % less where the epilogue is unrolled.

local gemm = require "lib.gemm"
local mma = require "lib.mma"

return schedule "gemm" {
  target = "cpu",

  generator = {
    type = "bfloat16",
    weights = "packed",
    panel = tune { 32, 48, 64, default = 48 },
  },

  params = {
    task  = tune { 4, 8, 16, 32, default = 16 }, -- blocks of 32 rows a task
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    if mma.has_tiles(target) or p.tiles == "always" then
      mma.blocks(k.y, k.acc, {
        lanes = target:lanes "f32",
        panel = p.panel,
        rows = 32,
        task = p.task,
        group = 2,
      })
    else
      local tile = mma.vectors(target, p.panel)
      local o = gemm.packed(target, k.a, k.a_f, {
        m = k.y:dim(1):extent(), panel = p.panel, rows = tile.rows, task = p.task,
      })
      o.columns, o.rows = tile.columns, tile.rows
      o.stage_b = o.stage_a and target.vector_registers < 32 and k.b_f
      gemm.register_tiles(k.y, k.acc, o)
    end
  end,
}
