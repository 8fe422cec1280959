-- GEMM of bf16 by AMX, weights packed into panels; where there is none, by vectors as in gemm.lua, so that
-- one library serves both: --target avx512_sapphirerapids,avx512_zen5,avx512_avxvnni,avx512_zen4,avx512,avx2.
-- A block of 32 rows x panel is a row of two-by-three result tiles, of 64 columns of two-by-two ones. One call runs over all
-- of k for it, while the rows of a task stay in L2; the epilogue reads the block from L1. On an Emerald Rapids panels of 48
-- are the quickest: oneDNN's time over ours 1.07 for 1024 cubed, 1.02 with panels of 32 and 1.00 with 64. gemm.lua takes tiles too
-- where there are any; here their tasks can be tuned.

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
    task   = tune { 2, 4, 8, 16, 32, default = 16 },       -- blocks of 32 rows a task
    panels = tune { 1, 2, 4, 8, 16, default = 2 },         -- a task
    inner  = tune { "rows", "panels", default = "rows" },  -- of a task go by first; panels where k is short (lib/mma.lua)
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
        m = k.y:dim(1):extent(), panel = p.panel, rows = tile.rows, task = p.task,
      })
      o.columns, o.rows = tile.columns, tile.rows
      o.stage_b = o.stage_a and target.vector_registers < 32 and k.b_f
      gemm.register_tiles(k.y, k.acc, o)
    end
  end,
}
