-- GEMM for a long k and many rows, for AVX-512 (AVX2 gains nothing), weights packed into panels: k goes by in blocks, and four panels
-- meet the rows of a task before the next rows come. From k = 4096 on a panel of the weights fills L2, and without blocks both
-- operands come from beyond it. Zen 5, L2 of 1 MiB, 4096 cubed: 727 ms without blocks; with blocks of 1024, and 1, 4, 8, 16
-- panels, 643, 600, 606, 626; blocks of 512 with one panel 637, of 2048 671. At 2048 cubed 79.4 ms without, 76.6; at 1024 9.1
-- and 9.6, as sums are stored once more. Rows of a copied to where they are dense: 30 % slower; prefetched: no faster.
-- With AMX f32 goes by in blocks too, of 8 panels by 128 rows, best with panels of 32: 4096 cubed on an Emerald Rapids 944 ms without blocks
-- (oneDNN 852), with panels of 64 811, of 32 719; 1024 cubed 8.29 and 9.03. bf16 gains nothing by blocks, and is as in gemm.lua.

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
