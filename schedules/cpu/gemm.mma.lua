-- GEMM of bf16 by AMX, weights packed into panels; where there is none, by vectors as in gemm.lua, so that
-- one library serves both: --target avx512_sapphirerapids,avx512_zen5,avx512_avxvnni,avx512_zen4,avx512,avx2.
-- A block of 32 rows x panel is a row of two-by-two result tiles, of 48 columns of two-by-three ones. One call runs over all
-- of k for it, while the rows of a task stay in L2; the epilogue reads the block from L1. Where it does more than add a bias, the next
-- block is begun in its loop (runtime/mma_ahead.h), unless panels are 48. gemm.lua takes tiles too where there are any; here their
-- tasks can be tuned.

local gemm = require "lib.gemm"
local mma = require "lib.mma"

return schedule "gemm" {
  target = "cpu",

  generator = {
    type = "bfloat16",
    weights = "packed",
    panel = tune { 32, 48, 64, default = 32 },
  },

  params = {
    task   = tune { 2, 4, 8, 16, 32, default = 4 },          -- blocks of 32 rows a task
    panels = tune { 1, 2, 4, 8, 16, default = 4 },           -- a task
    inner  = tune { "rows", "panels", default = "panels" },  -- of a task go by first (lib/mma.lua)
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
        panels = p.panels,
        inner = p.inner,
        group = 2,
      })
    else
      local tile = mma.vectors(target, p.panel)
      local o = gemm.packed(target, k.a, k.a_f, {
        m = k.y:dim(1):extent(), panel = p.panel, rows = tile.rows, task = 4 * p.task,
      })
      o.columns, o.rows = tile.columns, tile.rows
      o.stage_b = o.stage_a and target.vector_registers < 32 and k.b_f
      gemm.register_tiles(k.y, k.acc, o)
    end
  end,
}
