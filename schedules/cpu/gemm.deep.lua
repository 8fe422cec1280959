-- GEMM for a long k and many rows, for AVX-512 (AVX2 gains nothing), weights packed into panels: k goes by in blocks, and four panels
-- meet the rows of a task before the next rows come. From k = 4096 on a panel of the weights fills L2, and without blocks both
-- operands come from beyond it. Short k gain nothing, as sums are stored once more. Copying or prefetching rows of a does not help here.
-- With AMX f32 goes by in blocks too, of 8 panels by 128 rows, best with panels of 32; bf16 gains nothing by blocks.

local gemm = require "lib.gemm"

return schedule "gemm" {
  target = "cpu",

  generator = {
    weights = "packed",
    panel = tune { 32, 48, 64, default = 64 },
  },

  params = {
    depth  = tune { 512, 1024, 2048, default = 1024 }, -- of a block of k
    panels = tune { 1, 4, 8, default = 4 },            -- that meet the rows of a task one after the other, by vectors
    task   = tune { 8, 16, 32, default = 16 },         -- register tiles a task
    -- always: also where the processor has no tiles, which are then plain loops. To try the route out.
    tiles  = tune { "amx", "always", default = "amx" },
  },

  apply = function(k, p, target)
    k.y:dim(0):set_min(0)
    local tiles = gemm.packed(target, k.a, k.a_f, { panel = p.panel, task = p.task, tiles = k:has "a_tf32" and "never" or p.tiles })
    tiles.m, tiles.depth, tiles.panels = k.y:dim(1):extent(), p.depth, p.panels
    gemm.deep_tiles(k.y, k.acc, tiles)
  end,
}
