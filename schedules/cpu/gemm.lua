-- GEMM with its epilogue for AVX2 and AVX-512, weights packed into panels.
-- A register tile of rows x panel accumulators runs over all of k; the panel of
-- weights that it reads stays in L2 while the rows of a go by. The epilogue works on
-- the accumulators, so y is written once and nothing else is.
-- bf16 is multiplied in pairs where the target can (AVX512-BF16: twice the rate of f32), else as f32.
-- A packed copy of a is slower: a few rows of a stay in L1 as they are. From k = 4096 on gemm.deep.lua is quicker. One row runs at the
-- speed of memory. Where there is AMX, its tiles multiply f32, bf16 and bytes, for any number of rows (gemm.mma.lua,
-- gemm.mma_f32.lua): they are as quick as vectors for one row, and far quicker for many, most in bf16.

local gemm = require "lib.gemm"

return schedule "gemm" {
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
    local wide = target.vector_registers >= 32
    local type = k.a:type()
    local tiles = gemm.packed(target, k.a, k.a_f, {
      m = k.y:dim(1):extent(),
      panel = p.panel,
      rows = p.rows,
      task = p.task,
      tiles = k:has "a_tf32" and "never",
    })
    -- AVX2 takes its pairs of bf16 apart at half the speed, so they are staged as f32. Where
    -- converting is one cheap instruction it costs less than the copy.
    tiles.stage_b = tiles.stage_a and type == "bf16" and not wide and k.b_f
    -- A block of rows meets some panels before the next, and the next block is begun meanwhile.
    if tiles.amx and type == "bf16" then tiles.amx.inner, tiles.amx.panels, tiles.amx.task = "panels", 4, 4 end
    k.y:dim(0):set_min(0)
    gemm.register_tiles(k.y, k.acc, tiles)
  end,
}
